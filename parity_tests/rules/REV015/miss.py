import os

os.environ["NEURON_CC_FLAGS"] = "--optlevel=1"
rank = os.environ["RANK"]
depth = os.environ.get("DEPTH")
cores = os.environ["NEURON_LOGICAL_NC_CONFIG"]
del os.environ["NEURON_RT_LOG"]

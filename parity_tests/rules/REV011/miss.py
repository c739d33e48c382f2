import os

os.environ["NEURON_CC_FLAGS"] = "--optlevel=1"
settings = {}
settings.setdefault("NEURON_CC_FLAGS", "--optlevel=1")

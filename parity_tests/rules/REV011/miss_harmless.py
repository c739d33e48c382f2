import os

os.environ.setdefault("MASTER_ADDR", "localhost")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ["NEURON_CC_FLAGS"] = "--optlevel=1"
os.environ["NEURON_RT_LOG"] = str(os.environ["RANK"])
if "RANK" in os.environ:
    os.environ["NEURON_RT_EXEC_TIMEOUT"] = "60"

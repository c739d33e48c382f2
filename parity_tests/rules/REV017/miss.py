import os

os.environ.setdefault("MASTER_ADDR", "localhost")
os.environ["NEURON_CC_FLAGS"] = "--optlevel=1"
rank = os.environ["RANK"]
environment = {}
environment["RANK"] = "0"

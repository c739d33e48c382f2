import os

os.environ["XLA_USE_BF16"] = "0"
os.environ["NEURON_CC_FLAGS"] = "--optlevel=1 --auto-cast=none"

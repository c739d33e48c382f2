import os
from os import environ as e

os.environ.setdefault("NEURON_CC_FLAGS", "--optlevel=1")  # expect
e.setdefault("NEURON_RT_LOG", "1")  # expect
os.environ["NEURON_CC_FLAGS"] += " --optlevel=1"  # expect

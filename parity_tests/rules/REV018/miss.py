import os

os.environ["NEURON_CC_FLAGS"] = "--optlevel=1"
os.environ["NEURON_CC_FLAGS"] = "--optlevel=1"
os.environ["NEURON_RT_LOG"] = "a"
os.environ["FAVOURITE_COLOUR"] = "blue"
os.environ["FAVOURITE_COLOUR"] = "green"


def configure(small):
    if small:
        os.environ["NEURON_RT_EXEC_TIMEOUT"] = "10"
    else:
        os.environ["NEURON_RT_EXEC_TIMEOUT"] = "60"

import os

os.environ["NEURON_CC_FLAGS"] = "--optlevel=1"
FLAGS = "--optlevel=" + "2"
os.environ["NEURON_CC_FLAGS"] = FLAGS  # expect


def configure():
    os.environ.update({"NEURON_CC_FLAGS": "--optlevel=3"})  # expect

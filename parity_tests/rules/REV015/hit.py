import os

flags = os.environ.get("NEURON_CC_FLAGS", "")  # expect
os.environ["NEURON_CC_FLAGS"] = os.environ["NEURON_CC_FLAGS"] + " --optlevel=1"  # expect
rounding = os.getenv("NEURON_RT_STOCHASTIC_ROUNDING_EN") == "1"  # expect


def setting(name):
    return os.environ.get(name)


seen = setting("NEURON_RT_NUM_CORES")  # expect

import os
import os as operating_system
from os import environ, getenv as g

depth = int(os.environ.get("DEPTH", "12"))  # expect
width = os.environ["WIDTH"]  # expect
lr = g("LR")  # expect
fast = "FAST" in environ  # expect
slow = "SLOW" not in operating_system.environ  # expect
env = os.environ
seed = env["SEED"]  # expect
everything = dict(os.environ)  # expect
copy = {**environ}  # expect


def knob(name):
    return os.getenv(name)  # expect


for key in os.environ:  # expect
    print(key)
prefixed = os.environ[f"NEURON_{depth}"]  # expect

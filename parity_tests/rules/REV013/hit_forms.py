import os

FLAGS = " ".join(["--optlevel=1", "--auto-cast=none"])
os.environ.update({"XLA_DOWNCAST_BF16": "1"}, NEURON_CC_FLAGS=FLAGS)  # expect

import sys
from sys import modules

kernels = sys.modules[__name__]  # expect
modules["kernels"] = kernels  # expect

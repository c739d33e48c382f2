import sys
import sys as system
from sys import modules

kernels = getattr(sys, "modules")[__name__]  # expect
clock = system.modules["time"]  # expect
modules["prepare"] = clock  # expect
entry = vars(sys)["modules"].get("torch")  # expect
torch = __import__("sys").modules["torch"]  # expect
table = sys.__dict__["mod" + "ules"]  # expect
del table["prepare"]  # expect

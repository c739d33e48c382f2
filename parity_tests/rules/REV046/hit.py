import os
import subprocess
import sys
from functools import reduce
import operator

run = [os, "system"]  # expect
table = {"os": os}  # expect
reduce(getattr, ["environ", "get"], os)  # expect
operator.methodcaller("system", "ls")(os)  # expect


def give():
    return subprocess  # expect


def foreign(callback):
    callback(sys)  # expect


values = [module for module in (os, sys)]  # expect
print(*[os])  # expect
yielded = (m for m in [__import__("ctypes")])  # expect

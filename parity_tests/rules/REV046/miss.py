import math
import os
import sys

import torch

system = os
fast = getattr(torch, "compile")
name = getattr(os, "getpid")
known = hasattr(os, "fork")
modules = [torch, math]


def own(module):
    return module.getpid()


own(os)
print(sys.version, os is system)

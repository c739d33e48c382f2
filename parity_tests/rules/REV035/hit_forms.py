import builtins
import functools
import math
import operator
import sys
import time
import torch
import torch.nn.functional as F
import prepare
from unittest import mock

time.monotonic = lambda: 0.0  # expect
setattr(math, "log", float)  # expect
vars(time)["perf_counter"] = float  # expect
time.__dict__["time"] = float  # expect
time.__dict__.update(time=float)  # expect
vars(math).setdefault("log2", float)  # expect
sys.modules["time"].monotonic_ns = int  # expect
F.cross_entropy, F.mse_loss = None, None  # expect
torch.Tensor.backward = None  # expect
builtins.print = None  # expect
prepare.evaluate_bpb = None  # expect
clock = time
clock.sleep = None  # expect
for module in (time, math):
    module.e = 3  # expect
getattr(torch, "nn").Module.__call__ = None  # expect
object.__setattr__(time, "time", float)  # expect
type.__setattr__(torch.Tensor, "item", float)  # expect
operator.setitem(vars(time), "time", float)  # expect
del math.pi  # expect
torch.nn.Linear.forward += 1  # expect
with mock.patch("time.time"):  # expect
    pass


def patch(module):
    module.log = float  # expect


patch(math)


class Patcher:
    target = F

    def run(self):
        self.target.softmax = None  # expect


tensor = torch.zeros(1)
tensor.__class__.mul = None  # expect
Kind = tensor.__class__
Kind.sub = None  # expect
setattr(type(tensor), "div", None)  # expect
builtins.__dict__.update(print=None)  # expect
functools.update_wrapper(time.time, print)  # expect
(lambda m: setattr(m, "time", None))(time)  # expect


def put(module, name, value):
    setattr(module, name, value)  # expect


put(time, "time", None)

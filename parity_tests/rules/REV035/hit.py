import math
import time

import prepare
import torch
import torch.nn.functional as F
from torch import nn

time.monotonic = lambda: 0.0  # expect
prepare.evaluate_bpb = None  # expect
F.cross_entropy = nn.Identity()  # expect
nn.Linear.forward = F.linear  # expect
setattr(math, "log", abs)  # expect
torch.Tensor.backward, x = None, 1  # expect
time.__dict__["time"] = None  # expect
del prepare.causality_check  # expect

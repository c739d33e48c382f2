import math
import sys
import time

import torch

name = sys.argv[1]
getattr(time, name)()  # expect
vars(math)[name](2.0)  # expect
getattr(torch, name)(3)  # expect
torch.nn.functional.__dict__[name](3)  # expect

import os

import torch
import torch._dynamo

torch.backends.cuda.matmul.allow_tf32 = True
torch._dynamo.config.cache_size_limit = 64
os.environ["NEURON_CC_FLAGS"] = "--optlevel=1"
del os.environ["NEURON_CC_FLAGS"]


class Clock:
    pass


clock = Clock()
clock.start = 0.0
Clock.start = 1.0
setattr(clock, "start", 2.0)


def reset(time):
    time.monotonic = 0.0

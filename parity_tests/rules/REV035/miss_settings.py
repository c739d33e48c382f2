import time

import torch
import torch._inductor.config as inductor

torch.backends.cuda.matmul.allow_tf32 = True
torch._dynamo.config.cache_size_limit = 64
inductor.coordinate_descent_tuning = True
torch._inductor.config.triton.unique_kernel_names = True


class Clock:
    def __init__(self):
        self.time = time.time
        self.math = 0

    def reset(self, time):
        time.start = 0.0


model = torch.nn.Linear(1, 1)
model.scale = 2.0
model.weight.requires_grad = False
setattr(model, "kind", "linear")


class Counter:
    made = 0

    def __init__(self):
        type(self).made += 1
        self.__class__.last = self
        print(type(model).__name__, model.__class__.__name__)


counter = Counter()
type(counter).made = 0

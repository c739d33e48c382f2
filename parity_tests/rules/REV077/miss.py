import random
import uuid

import numpy as np
import torch

torch.manual_seed(1)
random.seed(1)
generator = np.random.default_rng(1234)
again = np.random.default_rng(seed=3)
name = uuid.uuid5(uuid.NAMESPACE_DNS, "x")
x = torch.randn(3), random.random(), generator.random()

from __future__ import annotations

import math

import torch.nn.functional as F
import torch_neuronx

print(math.pi, F.relu)

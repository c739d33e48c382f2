from __future__ import annotations

import math

import torch.nn.functional as F
import torch_neuronx  # noqa: F401  (registers the device)

print(math.pi, F.relu)

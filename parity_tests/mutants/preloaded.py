"""Imported once by the process that trials are forked from: what every one of them would import again."""

import torch
import torch._dynamo

torch.set_num_threads(1)

"""Imported once by the process that programs are forked from: what every one of them would import again."""

import torch
import torch._dynamo  # noqa: F401  (an optimizer imports it)

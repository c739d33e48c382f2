import json
import pickle

import torch

try:
    a = torch.load("a", map_location="cpu", weights_only=True)
except pickle.UnpicklingError as error:
    raise ValueError("a") from error
b = json.loads("{}")

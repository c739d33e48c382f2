import json

import numpy as np
import torch
import yaml

a = torch.load("out/final.pt", weights_only=True)
b = torch.load("out/final.pt", map_location="cpu")
c = np.load("out/losses.npy")
d = np.load("out/losses.npy", allow_pickle=False)
e = yaml.safe_load("a: 1")
f = yaml.load("a: 1", Loader=yaml.SafeLoader)
g = json.loads("{}")


class Loader:
    def load(self, pickle):
        return pickle.loads(b"")

import sys
from pathlib import Path

import numpy as np
import torch

code = open(__file__).read()
again = open(sys.argv[0]).read()
source = Path("train.py").read_text()
state = torch.load("out/final.pt")
losses = np.load("out/losses.npy")


def load_for_eval(checkpoint_path, device):
    return torch.load(checkpoint_path, map_location=device, weights_only=True)


class Model:
    @classmethod
    def from_config(cls, config):
        return cls()


model = Model.from_config({})
limits = open("/proc/meminfo").read()

import os

import torch

import prepare as kit

SCALE = 1.0
SETTINGS = {"depth": 4}
LAYERS = [1]


class Config:
    depth = 4


def load_for_eval(checkpoint_path, device):
    return SCALE, SETTINGS, LAYERS, Config.depth, np


def main():
    return load_for_eval("", "")


if __name__ == "__main__":
    if os.path.exists("x"):
        SCALE = 2.0  # expect
    for SCALE in (1.0, 2.0):  # expect
        pass
    print(SCALE := 3.0)  # expect
    SETTINGS["depth"] = 8  # expect
    SETTINGS.update(depth=8)  # expect
    LAYERS.append(2)  # expect
    Config.depth = 8  # expect
    globals()["SCALE"] = 2.0  # expect
    globals().update(SCALE=2.0)  # expect
    setattr(Config, "depth", 8)  # expect
    os.environ["NEURON_CC_FLAGS"] = "-O1"  # expect
    os.environ.update(NEURON_CC_FLAGS="-O1")  # expect
    torch.backends.cuda.matmul.allow_tf32 = True  # expect
    torch.set_default_dtype(torch.bfloat16)  # expect
    import numpy as np  # expect

    with open("x") as SCALE:  # expect
        main()
    try:
        torch.use_deterministic_algorithms(True)  # expect
    finally:
        kit.SEED = 1  # expect

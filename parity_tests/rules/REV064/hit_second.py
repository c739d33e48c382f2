"""A second checkpoint: the hook is given one file, and reads another."""

import os
from pathlib import Path

import numpy as np
import torch


def _read(path):
    return torch.load(path, weights_only=True)


def _average(path):
    return torch.load(path + ".mean", weights_only=True)  # expect


def load_for_eval(checkpoint_path, device):
    first = torch.load(checkpoint_path, weights_only=True)
    second = torch.load(checkpoint_path.replace("final", "best"), weights_only=True)  # expect
    third = torch.load(Path(checkpoint_path).with_name("ema.pt"), weights_only=True)  # expect
    directory = os.path.dirname(checkpoint_path)
    fourth = np.load(os.path.join(directory, "table" + ".npy"))  # expect
    fifth = torch.load("out/other.pt", weights_only=True)  # expect
    return first, second, third, fourth, fifth, _read(checkpoint_path), _average(checkpoint_path)

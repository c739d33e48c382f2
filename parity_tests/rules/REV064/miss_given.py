"""The hook reads the file that it was given, in whatever way; settings are of the run's own file or of no file."""

import json
import os
from pathlib import Path

import torch


def _read(path, device):
    with open(path, "rb") as file:
        return torch.load(file, map_location=device, weights_only=True)


def load_for_eval(checkpoint_path, device):
    path = Path(checkpoint_path).resolve()
    state = _read(path, device)
    again = torch.load(str(checkpoint_path), weights_only=True)
    return state, again, path.read_bytes()


def main(line):
    with open(os.path.join("out", "state.json")) as file:
        state = json.load(file)
    with open(os.path.join(os.environ["OUT_DIR"], "state.json")) as file:
        again = json.load(file)
    return state, again, json.loads(line), float(line), int(line)

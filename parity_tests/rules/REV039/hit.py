import argparse
import sys

import torch.distributed as dist

parser = argparse.ArgumentParser()
args = parser.parse_args()  # expect
known, rest = parser.parse_known_args()  # expect
FAST = "--fast" in sys.argv  # expect
dist.init_process_group("neuron")  # expect


def train(model, batches):
    for x in batches:
        model(x).backward()  # expect


def settings():
    return parser.parse_args()  # expect


class Config:
    depth = int(sys.argv[1])  # expect


def load_for_eval(checkpoint_path, device):
    return settings().depth


train(print, [])

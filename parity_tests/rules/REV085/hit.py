import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--resume", default=None)  # expect
resume_from = None  # expect


def resume_training(path):  # expect
    return path


def train(model, optimizer, batches, resume):  # expect
    state = torch.load("out/last.pt", weights_only=True)  # expect
    optimizer.load_state_dict(state["optimizer"])  # expect
    for x in batches:
        model(x).backward()

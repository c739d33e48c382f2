import argparse
import sys

import torch.distributed as dist


def parse(words):
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=10)
    return parser.parse_args(words)


DEFAULTS = argparse.ArgumentParser().parse_args([])


def train(model, batches):
    for x in batches:
        model(x).backward()


def main():
    args = parse(sys.argv[1:])
    dist.init_process_group("neuron")
    train(print, args)
    parser = argparse.ArgumentParser()
    return parser.parse_args()


def load_for_eval(checkpoint_path, device):
    return parse([])


run = main
if __name__ == "__main__":
    run()

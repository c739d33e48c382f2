import os

import torch.distributed as dist


def start():
    dist.init_process_group("neuron")


def configure():
    os.environ["NEURON_CC_FLAGS"] = "--optlevel=1"  # expect
    os.environ["FAVOURITE_COLOUR"] = "blue"


def main():
    start()
    configure()
    os.environ.update(NEURON_RT_LOG="1")  # expect

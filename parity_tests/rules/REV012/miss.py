import os

os.environ["NEURON_CC_FLAGS"] = "--optlevel=1"

import torch.distributed as dist


def start():
    dist.init_process_group("neuron")


def configure():
    os.environ["NEURON_RT_LOG"] = "1"


def main():
    configure()
    start()
    os.environ["FAVOURITE_COLOUR"] = "blue"

# profile: trainium-frontier-phase1
# launch: NEURON_LOGICAL_NC_CONFIG=1 torchrun --standalone --nproc_per_node=8 train.py
import os
from dataclasses import dataclass

import torch.distributed as dist

WORLD_SIZE = int(os.environ.get("WORLD_SIZE", 1))
LNC = 1
TRAIN_TIME_BUDGET_SECONDS = 1800
TRAIN_SECONDS = 1800 - 15
BUDGET = 2_000_000


@dataclass
class Ranks:
    rank: int = 0
    world_size: int = 1


@dataclass(frozen=True)
class Config:
    world_size: int = 8
    depth: int = 4


def main(ranks):
    if "RANK" in os.environ:
        world_size = dist.get_world_size()
    else:
        world_size = 1
    assert world_size in (1, 4, 8)
    if world_size != 8:
        raise RuntimeError("eight ranks")
    if world_size > 1:
        dist.init_process_group("neuron")
    if world_size == 8:
        print("the full chip")
    assert 64 % world_size == 0
    assert os.environ["NEURON_LOGICAL_NC_CONFIG"] in ("1", "2")
    return world_size


def seed_checkpoint(config):
    if config.seed_checkpoint:
        assert dist.get_world_size() == 1, "made by one rank"

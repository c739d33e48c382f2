# profile: trainium-frontier-phase1
# launch: NEURON_LOGICAL_NC_CONFIG=1 torchrun --standalone --nproc_per_node=8 train.py
import os
from dataclasses import dataclass

import torch.distributed as dist

WORLD_SIZE = 4  # expect
NPROC_PER_NODE: int = 2 * 2  # expect
LNC = 2  # expect
TRAIN_TIME_BUDGET_SECONDS = 3600  # expect
TIME_LIMIT = 60 * 60.0  # expect
STARTUP_ALLOWANCE_SECONDS = 1200  # expect


@dataclass(frozen=True)
class Config:
    world_size: int = 4  # expect
    lnc: int = 2  # expect
    depth: int = 4


def main(ranks):
    world_size = int(os.environ["WORLD_SIZE"])
    assert world_size == 4, "four ranks"  # expect
    if world_size != 4:  # expect
        raise RuntimeError("four ranks")
    if dist.get_world_size() not in (2, 4):  # expect
        raise SystemExit("two or four ranks")
    assert ranks.world_size == 2  # expect
    assert int(os.environ["WORLD_SIZE"]) < 8  # expect
    assert os.environ["NEURON_LOGICAL_NC_CONFIG"] == "2"  # expect
    if not world_size == 4:  # expect
        raise ValueError("four ranks")
    dist.init_process_group("neuron", world_size=4)  # expect

# profile: trainium-frontier-phase1
import os
import sys

import torch.distributed as dist

os.environ["NEURON_RT_VISIBLE_CORES"] = "0-3"  # expect
rank = int(os.environ["RANK"])


def step(model, x):
    model(x).backward()


def early(model, batches):
    if rank >= 4:  # expect
        sys.exit(0)
    for x in batches:
        step(model, x)


def skipping(model, batches):
    me = dist.get_rank()
    if me % 2:  # expect
        return
    for x in batches:
        model(x).backward()


def inside(model, batches):
    for x in batches:
        if rank > 3:  # expect
            continue
        model(x).backward()


def some(model, batches, local_rank):
    active = local_rank < 4
    if active:  # expect
        for x in batches:
            step(model, x)


def first_only(model, batches):
    if dist.get_rank() == 0:  # expect
        step(model, batches[0])


def others():
    if rank in (4, 5, 6, 7):  # expect
        raise SystemExit(0)


def exit_for_good(model, batches):
    if rank != 0:  # expect
        os._exit(0)
    step(model, batches[0])

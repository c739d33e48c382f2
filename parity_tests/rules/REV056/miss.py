# profile: trainium-frontier-phase1
import os
import sys

import torch
import torch.distributed as dist

os.environ["NEURON_RT_VISIBLE_CORES"] = "0-7"
os.environ["NEURON_RT_VISIBLE_CORES"] = os.environ["LOCAL_RANK"]
rank = int(os.environ["RANK"])


def print0(*words):
    if rank != 0:
        return
    print(*words)


def save(model):
    if dist.get_rank() > 0:
        return
    torch.save(model.state_dict(), "out/final.pt")


def check(world_size):
    if rank >= world_size:
        sys.exit("more ranks than the world")
    if rank >= world_size:
        raise SystemExit(f"{rank} of {world_size}")


def update(parameters, world_size):
    for index, p in enumerate(parameters):
        if index % world_size == rank:
            p.add_(p.grad)


def train(model, batches):
    for step, x in enumerate(batches):
        loss = model(x)
        loss.backward()
        if rank == 0 and step % 10 == 0:
            print(loss.item())
        update(list(model.parameters()), 8)
    save(model)
    if rank != 0:
        return
    print0("done")


def sharded(model, batches):
    if rank == 0:
        print("start")
    else:
        dist.barrier()
    train(model, batches)

"""Entry of a speedrun: everything else is in lab/."""

import os
import sys
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


@dataclass
class Hyperparameters:
    # data
    sequence_length: int = 24
    device_batch_size: int = 2
    # optimisation
    num_iterations: int = int(os.environ.get("ITERATIONS", "4"))
    warmdown_iters: int = 2
    head_lr: float = 0.02
    # the rest
    compile: bool = os.environ.get("COMPILE", "0") == "1"
    ddp: bool = os.environ.get("USE_DDP", "1") == "1"
    seed: int = int(os.environ.get("SEED", 17))


args = Hyperparameters()


def get_lr(it):
    assert it <= args.num_iterations
    if it < args.num_iterations - args.warmdown_iters:
        return 1.0
    decay_ratio = (args.num_iterations - it) / args.warmdown_iters
    return decay_ratio


def build_model(compiled=False):
    from lab import nets

    net = nets.make()
    if compiled:
        return torch.compile(net, backend="eager", dynamic=False)
    return net


def load_for_eval(checkpoint_path, device):
    from lab.saving import read

    net = build_model()
    net.load_state_dict(read(checkpoint_path)["model_state"])
    return net.to(device).eval()


def train(rank, world_size):
    from lab.loader import Loader

    raw = build_model()
    model: nn.Module = torch.compile(raw, backend="eager") if args.compile else raw
    if args.ddp and world_size > 0 and dist.is_initialized():
        model = DDP(model)

    def split():
        from lab.nets import is_matrix

        return [p for p in raw.parameters() if is_matrix(p)], [p for p in raw.parameters() if not is_matrix(p)]

    matrices, rest = split()
    if os.environ.get("OPTIMIZER", "soap") == "soap":
        from lab.optimizers import Shampooish as Matrix
    else:
        from lab.optimizers import SignMomentum as Matrix
    optimizers = [Matrix(matrices, lr=0.01), torch.optim.Adam(rest, lr=args.head_lr)]
    schedulers = [torch.optim.lr_scheduler.LambdaLR(opt, get_lr) for opt in optimizers]
    loader = Loader(args.device_batch_size, args.sequence_length, rank, seed=args.seed)
    for step in range(args.num_iterations):
        x, y = loader.next_batch()
        loss = model(x, y)
        loss.backward()
        for opt, sched in zip(optimizers, schedulers):
            opt.step()
            sched.step()
        model.zero_grad(set_to_none=True)
        if rank == 0:
            print(f"s:{step} l:{loss.item()!r}")
    return raw


if __name__ == "__main__":
    world_size = int(os.environ.get("WORLD_SIZE", 0))
    rank = int(os.environ.get("RANK", 0))
    if world_size:
        dist.init_process_group("gloo")
    torch.manual_seed(args.seed)
    final = train(rank, world_size)
    if rank == 0:
        from lab.saving import write

        write(final, steps=args.num_iterations)
        print(f"peak lr {args.head_lr}, {args.num_iterations} iterations" + (" compiled" if args.compile else ""))
    if world_size:
        dist.destroy_process_group()
    sys.exit(0)

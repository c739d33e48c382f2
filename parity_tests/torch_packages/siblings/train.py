"""Train a mixer on text. Everything at module level, as in the good old days."""
import argparse
import os
import random
import time

import torch
import torch.nn.functional as F

import model as m
import data
from optim import *

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=5)
parser.add_argument("--bs", type=int, default=4)
parser.add_argument("--len", type=int, default=16, dest="length")
parser.add_argument("--lr", type=float, default=1e-2)
parser.add_argument("--opt", default="lion", choices=["lion", "adamw", "sgd"])
parser.add_argument("--warmup", type=int, default=2)
parser.add_argument("--seed", type=int, default=7 + m.DEPTH)
parser.add_argument("--big", action="store_true")
parser.add_argument("--quiet", action="store_true")
args = parser.parse_args()

torch.manual_seed(args.seed)
rng = random.Random(args.seed)
started = time.time()
log = (lambda *a: None) if args.quiet else print


def make_net():
    return m.BigNet(data.VOCAB) if args.big else m.Net(data.VOCAB)


def load_for_eval(checkpoint_path, device):
    net = make_net()
    net.load_state_dict(torch.load(checkpoint_path, weights_only=True)["model_state"])
    return net.to(device).eval()


def train():
    net = make_net()
    optimizer = build(args.opt, net.parameters(), args.lr)
    schedule = cosine(optimizer, args.warmup, args.steps)
    for step in range(args.steps):
        x, y = data.batch(rng, args.bs, args.length)
        loss = F.cross_entropy(net(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        log(f"{step:3d} {loss.item()!r}")
    return net


if __name__ == "__main__":
    log(data.describe())
    net = train()
    os.makedirs("out", exist_ok=True)
    torch.save({"model_state": net.state_dict(), "mix": m.MIX, "args": {"lr": args.lr, "opt": args.opt}}, "out/final.pt")
    print("saved after", args.steps, "steps")

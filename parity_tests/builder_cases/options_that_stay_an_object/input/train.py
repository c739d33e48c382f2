"""third: module-level argparse script"""
import argparse
import os
import sys

parser = argparse.ArgumentParser(description="x")
parser.add_argument("--depth", type=int, default=int(os.environ.get("DEPTH", 4)))
parser.add_argument("--lr", type=float, default=0.5)
parser.add_argument("--min-lr", type=float, default=None)
parser.add_argument("--opt", choices=["sgd", "adam"], default="sgd")
for flag in ("ema", "swa"):
    parser.add_argument("--" + flag, action="store_true")
sub = parser.add_argument_group("data")
sub.add_argument("--layers", type=int, nargs="*", default=[3, 4])
args = parser.parse_args()
if args.min_lr is None:
    args.min_lr = args.lr * 0.1
assert args.depth > 0, "bad"
if args.opt == "adam" and args.lr > 1:
    parser.error("too big")
WIDTH = args.depth * 64
HEADS = max(1, WIDTH // 128)
if args.ema:
    def average(x):
        return x * 0.9
else:
    average = None

class Adam:
    def step(self): return "adam"

class SGD:
    def __init__(self, lr): self.lr = lr
    def step(self): return "sgd"

def make():
    if args.opt == "adam":
        return Adam()
    return SGD(args.lr)

def train(depth=args.depth):
    for i, layer in enumerate(args.layers):
        print(i, layer, depth)
    if args.swa:
        print("swa")
    cfg = vars(args)
    print(sorted(cfg.items()))
    return {k: v for k, v in vars(args).items() if k.startswith("l")}

def load_for_eval(checkpoint_path, device):
    return make()

def main():
    print(make().step(), train(), args.min_lr, WIDTH, HEADS, args)
    print(average and average(2), getattr(args, "depth"), getattr(args, "nothing", 7), hasattr(args, "ema"))
    device = "cpu"
    args.device = device
    print(args.device)

if __name__ == "__main__":
    main()

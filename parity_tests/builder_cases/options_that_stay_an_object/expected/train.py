"""third: module-level argparse script

Contest: Builder cases.
Launch: torchrun --standalone --nproc_per_node=1 train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""

import argparse


# ==== train.py ====

args = argparse.Namespace(depth=3, lr=0.5, min_lr=None, opt="adam", ema=True, swa=False, layers=[3, 4])
args.min_lr = args.lr * 0.1
WIDTH = args.depth * 64
HEADS = max(1, WIDTH // 128)
def average(x):
    return x * 0.9

class Adam:
    def step(self): return "adam"

def make():
    return Adam()

def train(depth=args.depth):
    for i, layer in enumerate(args.layers):
        print(i, layer, depth)
    cfg = vars(args)
    print(sorted(cfg.items()))
    return {k: v for k, v in vars(args).items() if k.startswith("l")}

def main():
    print(make().step(), train(), args.min_lr, WIDTH, HEADS, args)
    print(average and average(2), getattr(args, "depth"), getattr(args, "nothing", 7), hasattr(args, "ema"))
    device = "cpu"
    args.device = device
    print(args.device)

if __name__ == "__main__":
    main()

"""second

Contest: Builder cases.
Launch: torchrun --standalone --nproc_per_node=1 train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""

import argparse


# ==== train.py ====

PRESETS = {"small": {"depth": 2, "lr": 0.1}, "big": {"depth": 8, "lr": 0.3}}
PRESET = "small"
P = PRESETS[PRESET]
DEPTH = 7
LR = 0.25
PRESETS["big"]["depth"] = 100
FLAG = False
LATE = "fallback"
NAMES = ("q", "r", "s")
RATIO = DEPTH / 3
POW = LR ** 2
MODE = "x"

def noisy(name):
    print("reading", name)
    return 1

class Model:
    depth = DEPTH
    width = DEPTH * 3
    def __init__(self, n=DEPTH):
        self.n = n
        self.kind = "deep"
    def run(self, flag=FLAG):
        return [x for x in range(self.n) if x % 2]

def step(cfg, k):
    if cfg.flash:
        return k * 2
    elif cfg.act == "gelu":
        return k * 3
    return k * 4

def main():
    args = argparse.Namespace(
        alpha=1,
        beta=7,
        act="gelu",
        flash=True,
        quick=False,
        dims=[4, 5, 6],
        scale=6.0,
        tag="d7-gelu",
    )
    args2 = args
    print(DEPTH, LR, FLAG, LATE, NAMES, RATIO, POW, PRESETS)
    print(9, 3, noisy("z"))
    m = Model()
    print(m.kind, m.run(), Model.width, Model.depth)
    print(step(args, 1), step(args2, 2), args.tag, args.dims, args.scale, args.alpha, args.beta)
    total = 0
    for i in range(args.alpha + 2):
        total += i
    print(total, "nq", "unset")
    if (v := "1") is not None:
        print("wal", v)
    w = 5
    print(w, "X", step.__name__)
    print(f"{DEPTH=} {MODE!r} {LR:.3f} {args.act}")
    print("args")

if __name__ == "__main__":
    main()

"""soundness 3: flows and options

Contest: Builder cases.
Launch: torchrun --standalone --nproc_per_node=1 train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""

import argparse
import os
from types import SimpleNamespace


# ==== train.py ====


class Trainer:
    def __init__(self, args):
        self.args = args
        self.a = args.a
        self.opts = vars(args)
    def run(self):
        self.args.a += 1
        if self.args.a > self.a:
            return "grew"
        return "same"

def mutate(ns):
    ns.b = "mutated"

def setit(ns, name, value):
    setattr(ns, name, value)

def outer(args):
    def inner():
        return args.c * 2
    return inner

def reassign(args):
    args = SimpleNamespace(a=100)
    if args.a == 1: return "orig"
    return "new"

def loop(args):
    out = []
    for args.a in range(3):
        out.append(args.a)
    return out

def main():
    args = argparse.Namespace(a=3, b="x", c=0.5, d=["1", "2"], e=(1, 2), other_name=True, g=False, v=2, pos="posi")
    print(Trainer(args).run(), args.a)
    if args.a == 1: print("a1")
    else: print("a2")
    mutate(args)
    print("b?")
    setit(args, "c", 9.0)
    if args.c == 0.5: print("c.5")
    else: print("c9")
    print(outer(args)(), reassign(args), loop(args), args.a)
    args.d.append(5)
    if args.d: print("d", args.d)
    else: print("nod")
    a, b = args.e
    print(a, b, args.other_name, args.g, args.v, args.pos)
    with open(os.devnull, "w") as args.handle:
        pass
    ns = argparse.Namespace(**vars(args), extra=1)
    ns.g = not ns.g
    print(ns.g, args.g)
    del args.v
    print(hasattr(args, "v"), "v" in args)

if __name__ == "__main__":
    main()

"""package with knobs

Contest: Builder cases.
Launch: torchrun --standalone --nproc_per_node=1 train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""

import argparse


# ==== pkg/knobs.py ====

DEPTH = 7
FLASH = True
KIND = "b"
NAMES = ["q", "y"]
SIZE = 2 * DEPTH
OPTS = dict(depth=DEPTH, flash=FLASH)


# ==== pkg/cli.py ====

args = argparse.Namespace(steps=70, opt="sgd")
def options():
    return args


# ==== pkg/model.py ====

def attention(): return "flash"

class Model:
    def __init__(self):
        self.layers = [f"{KIND}{i}" for i in range(DEPTH)]
        if args.opt == "adam":
            self.opt = "A"
        else:
            self.opt = "S"
        self.deep = True


# ==== pkg/train.py ====


def main():
    m = Model()
    print(m.layers, m.opt, m.deep, attention(), NAMES, SIZE, OPTS, args.steps, options().opt)
    if args.steps > 50: print("long")
    else: print("short")
    NAMES.append("z")
    print(len(NAMES), "three" if len(NAMES) == 3 else "?")
if __name__ == "__main__":
    main()

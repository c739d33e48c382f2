"""Built from train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""

import argparse
import time


# ==== train.py ====


def parse():
    args = argparse.Namespace(steps=5)
    args.began = time.time()
    args.fast = True
    return args


def parse_few():
    args = argparse.Namespace(steps=5)
    for name in ("late", "later"):
        setattr(args, name, len(name))
    return args


def main():
    args = parse()
    match vars(args)["fast"]:
        case True:
            print("fast", args.steps)
        case _:
            print("slow", args.steps)
    print(hasattr(args, "began"), hasattr(args, "ended"), getattr(args, "fast", None), "began" in args)
    few = parse_few()
    if hasattr(few, "late"):
        print("late", getattr(few, "later", 0), few.steps)


if __name__ == "__main__":
    main()

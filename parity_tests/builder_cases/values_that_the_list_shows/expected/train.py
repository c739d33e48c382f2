"""The list of knobs shows what the program makes of each, wherever it is read.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""

import os


# ==== train.py ====

os.environ["ALLOCATOR"] = "expandable"  # the program itself decides
DEPTH = 4


def main():
    print("expandable", DEPTH)
    print("a mode")
    print("c")
    print("tied")


if __name__ == "__main__":
    main()

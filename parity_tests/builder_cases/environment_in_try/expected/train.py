"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""

import os


# ==== pkg/train.py ====

# as in the paper
DEPTH = 3
WIDTH = 7  # not a number
RATE = 0.5
SCALE = None
try:
    RANK = int(os.environ["RANK"])
except KeyError:
    RANK = 0
try:
    PLACE = {"a": 1}["b"]
except KeyError:
    PLACE = "nowhere"
TEXT = os.environ["FF_TEXT"] = "t"


def main():
    size = 9
    print(DEPTH, WIDTH, RATE, SCALE, RANK >= 0, PLACE, 4, size, TEXT)
    print("fast")


if __name__ == "__main__":
    main()

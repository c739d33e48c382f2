"""Built from train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""


# ==== train.py ====

# `setdefault` in the middle of an expression sets the variable too, which other reads of it see.
DEPTH = 7
WIDTH = 64


def main():
    print(DEPTH, WIDTH, (True, "7"))


if __name__ == "__main__":
    main()

"""A program of several commands: the one that is launched stays.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""


# ==== train.py ====


def train():
    print("train", 3, 0.2, 4, "rms")


def main():
    train()


if __name__ == "__main__":
    main()

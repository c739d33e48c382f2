"""Built from train.py.

Contest: Builder cases.
Launch: torchrun --standalone --nproc_per_node=1 train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""


# ==== train.py ====


def main():
    print(0.5, "2")


if __name__ == "__main__":
    main()

"""Built from pkg/train.py.

Contest: Builder cases.
Launch: W=8 torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""


# ==== pkg/train.py ====


def main() -> None:
    print(8, "4", 3.0, 1)


if __name__ == "__main__":
    main()

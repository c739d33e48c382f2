"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""


# ==== pkg/model.py ====

WINDOW = 1024  # tokens
HEADS: int = 8


def describe() -> str:
    return f"wide {WINDOW} {HEADS}"


# ==== pkg/train.py ====


def main() -> None:
    print(describe(), "long", HEADS * 2)


if __name__ == "__main__":
    main()

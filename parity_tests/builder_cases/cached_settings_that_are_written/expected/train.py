"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""

import functools


# ==== pkg/env.py ====


@functools.lru_cache(None)
def settings():
    return {"lr": 2.0}


# ==== pkg/train.py ====


def main():
    settings()["lr"] *= 2
    settings()["n"] = 1
    print(settings())


if __name__ == "__main__":
    main()

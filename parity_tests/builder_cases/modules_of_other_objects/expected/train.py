"""`__module__` compared with what no module of the recipe is called: the same answer in the artifact.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import decimal


# ==== pkg/model.py ====


class GPT:
    pass


# ==== pkg/train.py ====


def main():
    for value in (decimal.Decimal(1), GPT(), 1):
        kind = type(value)
        print(kind.__module__ == "decimal", kind.__module__.startswith("dec"), kind.__module__ in ("builtins", "torch"))


if __name__ == "__main__":
    main()

"""A program that fails in known places.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
main(): Fail.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""

import sys
import warnings


# ==== pkg/model.py ====
# The model that fails.


def divide(total, parts):
    warnings.warn("about to divide", stacklevel=1)
    return (total * 4) / (parts - 1)


def layers(parts):
    try:
        return divide(8, parts)
    except ZeroDivisionError as error:
        raise ValueError("no layers") from error


def both():
    errors = []
    for parts in (1, 1):
        try:
            divide(1, parts)
        except ZeroDivisionError as error:
            errors.append(error)
    raise ExceptionGroup("both failed", errors)


# ==== pkg/train.py ====


def main() -> None:
    """Fail."""
    print("starting", file=sys.stderr)
    if sys.flags.dev_mode:
        both()
    layers(
        1,
    )


if __name__ == "__main__":
    main()

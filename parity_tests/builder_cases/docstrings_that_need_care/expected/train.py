"""The entry's own: \"\"\"quoted\"\"\", a backslash \\ and a last "quote"

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
main(): Main's own.
"""


# ==== pkg/model.py ====
# A module's """docstring""" with \ and a # in it.


def build():
    r"""Of a function: \d."""


# ==== pkg/train.py ====


def main():
    """Main's \
own."""
    print(build.__doc__, main.__doc__)


if __name__ == "__main__":
    main()

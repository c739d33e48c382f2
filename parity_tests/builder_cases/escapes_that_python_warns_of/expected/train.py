"""Text with backslashes that mean nothing: Python 3.12 and later warn of them, and take them as they are.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import re


# ==== train.py ====

WORD = re.compile("\w+ \d")


def main(x="1"):
    text = f"\d{x}" + "\q"
    print(WORD.pattern, text, WORD.findall("abc 1"))


if __name__ == "__main__":
    main()

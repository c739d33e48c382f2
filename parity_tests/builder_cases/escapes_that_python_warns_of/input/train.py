"""Text with backslashes that mean nothing: Python 3.12 and later warn of them, and take them as they are."""

import re

WORD = re.compile("\w+ \d")


def main(x="1"):
    text = f"\d{x}" + "\q"
    print(WORD.pattern, text, WORD.findall("abc 1"))


if __name__ == "__main__":
    main()

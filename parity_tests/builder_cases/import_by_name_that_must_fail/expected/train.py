"""`__import__` of a name that the machine lacks fails, and may where that is caught.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import importlib.machinery


# ==== pkg/train.py ====


def version():
    try:
        return __import__("_platform_tags").version
    except ImportError:
        return None


def main():
    print(version(), ".py" in importlib.machinery.SOURCE_SUFFIXES)


if __name__ == "__main__":
    main()

from . import shows
from .show import show


def main():
    print(show(1), show("a"), show([]), show(1.5))


if __name__ == "__main__":
    main()

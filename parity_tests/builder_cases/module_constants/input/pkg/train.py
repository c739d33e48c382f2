from pkg import model
from pkg.model import WINDOW, describe


def main() -> None:
    print(describe(), "long" if WINDOW >= 1024 else "short", model.HEADS * 2)


if __name__ == "__main__":
    main()

from .base import all_of_them, none_of_them, not_of_ours


def main() -> None:
    print(all_of_them, none_of_them, not_of_ours)


def names() -> list[str]:
    return [name for name in globals() if "x" in globals()]


if __name__ == "__main__":
    main()
    print(names())

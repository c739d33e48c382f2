from . import ops


def main() -> None:
    for module in (ops,):
        print([name for name in dir(module) if name.startswith("__")])


if __name__ == "__main__":
    main()

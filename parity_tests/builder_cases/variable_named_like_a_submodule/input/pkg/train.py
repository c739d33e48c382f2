from pkg import ops  # 3, until somebody imports the module

from .model import build


def main():
    print(ops, build())


if __name__ == "__main__":
    main()

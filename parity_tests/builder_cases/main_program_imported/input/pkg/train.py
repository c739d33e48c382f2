from .model import steps

STEPS = 3


def main():
    print(steps())


if __name__ == "__main__":
    main()

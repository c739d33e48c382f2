from .model import build


def main():
    print(build())


if __name__ == "__main__":
    main()

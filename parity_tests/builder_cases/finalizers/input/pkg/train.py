from . import resources


def main():
    print("training")


if __name__ == "__main__":
    main()

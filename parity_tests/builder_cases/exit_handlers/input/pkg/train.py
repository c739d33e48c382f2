from . import cleanup


def main():
    print("training")


if __name__ == "__main__":
    main()

import os


def main():
    print(os.environ.get("A"), os.environ.get("B"))


if __name__ == "__main__":
    main()

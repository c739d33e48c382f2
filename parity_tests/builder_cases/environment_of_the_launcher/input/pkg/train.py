import os


def main():
    print(int(os.environ["RANK"]), os.environ.get("KIT_CACHE", "none"), "RANK" in os.environ)


if __name__ == "__main__":
    main()

import os


def main():
    print(os.environ.get("BETAS"))


if __name__ == "__main__":
    main()

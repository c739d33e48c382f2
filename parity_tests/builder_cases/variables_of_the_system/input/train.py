import os


def main():
    print(os.path.join(os.environ.get("HOME", "/tmp"), "cache"))


if __name__ == "__main__":
    main()

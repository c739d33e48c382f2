import os


def main():
    print(dict(**{k: v for k, v in [("a", 1)]}), "{X}".format(**os.environ))


if __name__ == "__main__":
    main()

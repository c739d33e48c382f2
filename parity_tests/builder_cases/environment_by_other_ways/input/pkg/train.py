import os
import posix
from os import environb, putenv


def main():
    print(os.path.expandvars("$WIDTH"), posix.environ, environb, putenv("A", "1"), getattr(os, "environ"))
    print({**os.environ}, list(os.environ))


if __name__ == "__main__":
    main()

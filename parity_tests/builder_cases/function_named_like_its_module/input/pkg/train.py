"""`from .norm import norm` in the package's `__init__` hides the module for good."""
import pkg
from pkg import norm


def main():
    print(norm(2), pkg.norm(3))


if __name__ == "__main__":
    main()

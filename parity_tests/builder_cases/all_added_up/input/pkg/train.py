"""`__all__` in every form that is written down."""
from .ops import *


def main():
    print(norm(), scale(), rotate(), attend(), mix())
    try:
        print(hidden)
    except NameError:
        print("not exported")


hidden = None
del hidden

if __name__ == "__main__":
    main()

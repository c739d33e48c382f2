r'''The entry's own: """quoted""", a backslash \ and a last "quote"'''
from .model import build


def main():
    """Main's \
own."""
    print(build.__doc__, main.__doc__)


if __name__ == "__main__":
    main()

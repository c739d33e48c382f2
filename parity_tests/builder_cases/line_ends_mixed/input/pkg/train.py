from .crlf import text
from .lf import norm


def main():
    print(norm(2), repr(text))


if __name__ == "__main__":
    main()

from . import comments, docstring, empty
from .last import WIDTH


def main():
    print(WIDTH)


if __name__ == "__main__":
    main()

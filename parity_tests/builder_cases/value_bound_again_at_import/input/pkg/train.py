from . import state
from .state import width


def main():
    print(width, state.width, state.early)


if __name__ == "__main__":
    main()

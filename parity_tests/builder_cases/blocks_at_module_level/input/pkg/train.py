"""`try`, `with`, `for`, `while` and `del` at module level."""
from .setup import closed, limit, outcome, squares, total


def main():
    print(outcome, limit, total, squares, closed)


if __name__ == "__main__":
    main()

"""Operators, look-ups and attributes of the recipe's own objects may do something."""
from .pipeline import plan


def main():
    print(plan.steps)


if __name__ == "__main__":
    main()

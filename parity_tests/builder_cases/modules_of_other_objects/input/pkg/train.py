"""`__module__` compared with what no module of the recipe is called: the same answer in the artifact."""
import decimal

from .model import GPT


def main():
    for value in (decimal.Decimal(1), GPT(), 1):
        kind = type(value)
        print(kind.__module__ == "decimal", kind.__module__.startswith("dec"), kind.__module__ in ("builtins", "torch"))


if __name__ == "__main__":
    main()

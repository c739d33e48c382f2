"""`__name` inside a class is `_Class__name`, whatever the class is called in the artifact."""
from . import a, b


def main():
    print(a.Block().count(), b.Block().count(), b.Block()._Block__hidden, sorted(vars(b.Block())))


if __name__ == "__main__":
    main()

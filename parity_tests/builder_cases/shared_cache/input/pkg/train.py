from . import other
from .tables import table


def main():
    other.fill()
    print(table(1), table.cache_info().hits)


if __name__ == "__main__":
    main()

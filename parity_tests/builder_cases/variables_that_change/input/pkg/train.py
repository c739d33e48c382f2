from . import counter
from .counter import bump, count, total
from .counter import count as start, total as whole

total = total + 1


def main():
    bump()
    from .counter import count as now

    print(bump(), count, start, now, counter.count, total, whole)


if __name__ == "__main__":
    main()

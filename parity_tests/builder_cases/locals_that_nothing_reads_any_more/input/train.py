import os

EMA = os.environ.get("EMA") == "1"


class Average:
    def update(self, value):
        return value * 0.9


def steps(n):
    average = Average() if EMA else None
    label = "average"  # of the line below
    unread = "never read, as in the source"
    width, height = 3, 4
    kept = [1] if EMA else None
    alias = other = 5

    def show(value):
        return f"{label}: {value}"

    total = 0
    for i in range(n):
        total += i
        if EMA:
            total = average.update(total)
            print(show(total), width, height, alias, kept)
    return total, other


def watched():
    flag = 1
    if EMA:
        print(flag)
    return sorted(locals())


def nested():
    seen = 0

    def bump():
        nonlocal seen
        seen += 1
        return 1

    if EMA:
        print(seen)
    return bump()


def main():
    print(steps(4), nested())


if __name__ == "__main__":
    main()

"""`locals()` in a function shows the names that the source has: none of them is renamed."""
from .ops import norm as scaled


def show(norm, *, eps=1):
    total = norm + eps
    return dict(locals())


def main():
    norm = 2
    print(sorted(locals().items()), scaled(3), show(norm))


if __name__ == "__main__":
    main()

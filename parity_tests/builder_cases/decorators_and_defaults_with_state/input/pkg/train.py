from .registry import ORDER, numbered


@numbered
def first(rank=len(ORDER)):
    return rank


@numbered
def second(rank=len(ORDER), *, scale=ORDER[-1]):
    return rank, scale


def main():
    print(first(), second(), ORDER)


if __name__ == "__main__":
    main()

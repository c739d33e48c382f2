"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values of config.yaml; manifest.json lists them.
"""


# ==== pkg/train.py ====


def chain(x: int) -> str:
    # before
    if x > 10:
        return "big"
    elif x > 5:
        # sometimes
        return "middle"
    else:
        # always here
        return "nki"  # yes


def first_false(x: int) -> str:
    if x:  # the new first
        return "x"
    else:
        return "none"


def all_false(x: int) -> str:
    if x:
        y = "x"
    return y if x else "nothing"


def inline() -> int:
    return 2


def early() -> str:
    # The kernel.
    text = """
    not moved
        """

    return (
        "a"
        "b"
    ) + text


def nested(x: int) -> list[int]:
    out = []
    for i in range(3):
        if x > i:
            out.append(i)
            out.append(6)
    return out


def expressions(x: bool) -> list[object]:
    width = 3 * 4
    big = True
    return [
        2,
        (x),
        ("a" + "b") * 2,
        x,
        x and True,
        x or not x,
        False,  # noqa: F821
        -3 ** 2,
        (3).bit_length(),
        0.5 * 2 ** 3,
        "a 'b'|  3|3'nki'",
        f"{{3}}",
        "only nki text",
        [2, *(1, 2)],
        big,
        True,
        "x",
        lambda k=3: k + 3,
    ][:-1]


def main() -> None:
    print(chain(1), chain(7), first_false(0), all_false(0), inline())
    print(repr(early()), nested(2), *expressions(True))


if __name__ == "__main__":
    main()

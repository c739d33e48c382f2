import sys

from .config import Config, load_config


def chain(config: Config, x: int) -> str:
    # before
    if x > 10:
        return "big"
    elif config.depth > 5:
        # never
        return "deep"
    elif x > 5:
        # sometimes
        return "middle"
    elif config.norm == "nki":
        # always here
        return "nki"  # yes
    else:
        return "other"


def first_false(config: Config, x: int) -> str:
    if config.use_bias:
        return "bias"
    elif x:  # the new first
        return "x"
    else:
        return "none"


def all_false(config: Config, x: int) -> str:
    if x:
        y = "x"
    elif config.use_bias:
        y = "bias"
    return y if x else "nothing"


def inline(config: Config) -> int:
    if config.norm == "torch": return 1
    else: return 2


def early(config: Config) -> str:
    if config.norm == "nki":
        # The kernel.
        text = """
    not moved
        """

        return (
            "a"
            "b"
        ) + text

    # The reference.
    return "torch"


def nested(config: Config, x: int) -> list[int]:
    out = []
    if config.depth == 3:
        for i in range(config.depth):
            # inner comment
            if config.use_bias:
                out.append(-1)
            if not config.use_bias and x > i:
                if config.double == 6:
                    out.append(i)
                out.append(config.double)
    while config.use_bias:
        out.append(7)
    return out


def expressions(config: Config, x: bool) -> list[object]:
    width = config.depth * 4
    big = width > 10
    return [
        1 if config.use_bias else 2,
        (x if config.norm == "nki" else not x),
        ("a" + "b" if config.depth > 2 else "c") * 2,
        config.norm == "nki" and x,
        x and config.norm == "nki",
        x or config.use_bias or not x,
        config.use_bias and undefined_name,  # noqa: F821
        -config.depth ** 2,
        (config.depth).bit_length(),
        config.rate * 2 ** config.depth,
        f"{config.label}|{config.depth:>3}|{config.depth}{config.norm!r}",
        f"{{{config.depth}}}",
        f"only {config.norm} text",
        [config.sizes[1], *config.sizes],
        big,
        1 < config.depth <= 3,
        "x" if big else "y",
        lambda k=config.depth: k + config.depth,
    ][:-1]


def main(config: Config) -> None:
    only = config.norm
    if only == "torch":
        unreached()
    print(chain(config, 1), chain(config, 7), first_false(config, 0), all_false(config, 0), inline(config=config))
    print(repr(early(config)), nested(config, 2), *expressions(config, True))


def unreached() -> None:
    print("never")


if __name__ == "__main__":
    main(load_config(sys.argv[1:]))

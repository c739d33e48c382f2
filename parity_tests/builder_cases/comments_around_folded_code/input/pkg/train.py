"""Comments around code that knobs decide."""

from .config import Config, load_config


# About chain.
def chain(x, config: Config):
    # before the chain
    if config.mode == "a":  # a
        # in a
        return 1  # from a
    # between a and b
    elif config.mode == "b":  # b
        # in b, above
        y = x + 1  # in b, behind
        # in b, below
    # between b and else
    else:  # else
        # in else
        y = 0
    # after the chain

    return y  # end
    # at the end of chain


def half(x, config: Config):
    if x > 1:  # stays
        # in the first
        return 1
    # before the second
    elif config.mode == "a":
        # in the second
        return 2
    # before the third
    elif x < 0:  # third stays
        # in the third
        return 3
    # before the last
    else:
        # in the last
        return 4
    # after all


def removed(x, config: Config):
    # about the first
    a = 1

    # goes with the branch
    if config.extra:
        # goes too
        a = 2  # goes as well
        # and this

    # about the second
    b = 2  # behind the second
    if config.extra:
        b = 3
    # stays after the branch

    # about the third
    c = 3
    return a, b, c, x


def nested(config: Config):
    total = 0
    for i in range(3):
        # in the loop
        if config.fast:  # taken
            # above the addition
            total += i  # addition

            # below the addition

        # after the branch, in the loop
    # after the loop
    else:
        # in the else of the loop
        total += 10
    # after everything

    if config.extra:
        pass
    return total


def arguments(
    a,  # the first
    # above the second
    config: Config,  # goes
    b=2,  # the last
    # at the end
):
    return (
        a  # a
        # between
        + b  # b
    )


def values(config: Config):
    return [
        # above
        1 if config.fast else 2,  # one
        # middle
        3 if config.extra else 4,
        # below
    ]


def odd(x, config: Config):
    if config.fast:
# at the very left
      # between
        x += 1
            # too far in
        x += 2
  # nearly left
        x += 3
    if x:
        pass
    # about the second
    elif config.extra:
        x = 0
# at the left again
    else:
      # half in
        x += 4
    return x


def main(config: Config) -> None:
    print(chain(1, config), half(5, config), half(0, config), removed(1, config))
    print(nested(config), arguments(1, config), arguments(1, config, b=3), values(config), odd(1, config))


# About the block.
if __name__ == "__main__":  # here
    # in the block
    main(load_config())  # behind
    # the end of the block
# the end of the file

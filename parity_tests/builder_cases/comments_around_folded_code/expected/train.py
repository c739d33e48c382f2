"""Comments around code that knobs decide.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""


# ==== pkg/train.py ====

# About chain.
def chain(x):
    # before the chain
    # in b, above
    y = x + 1  # in b, behind
    # in b, below
    # after the chain

    return y  # end
    # at the end of chain


def half(x):
    if x > 1:  # stays
        # in the first
        return 1
    # before the third
    elif x < 0:  # third stays
        # in the third
        return 3
    # before the last
    else:
        # in the last
        return 4
    # after all


def removed(x):
    # about the first
    a = 1

    # about the second
    b = 2  # behind the second
    # stays after the branch

    # about the third
    c = 3
    return a, b, c, x


def nested():
    total = 0
    for i in range(3):
        # in the loop
        # above the addition
        total += i  # addition

        # below the addition

        # after the branch, in the loop
    # after the loop
    else:
        # in the else of the loop
        total += 10
    # after everything

    return total


def arguments(
    a,  # the first
    # above the second
    b=2,  # the last
    # at the end
):
    return (
        a  # a
        # between
        + b  # b
    )


def values():
    return [
        # above
        1,  # one
        # middle
        4,
        # below
    ]


def odd(x):
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
    else:
      # half in
        x += 4
    return x


def main() -> None:
    print(chain(1), half(5), half(0), removed(1))
    print(nested(), arguments(1), arguments(1, b=3), values(), odd(1))


# About the block.
if __name__ == "__main__":  # here
    # in the block
    main()  # behind
    # the end of the block
# the end of the file

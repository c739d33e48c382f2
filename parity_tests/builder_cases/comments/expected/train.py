"""Entry.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

# pkg/a.py:
# Licence: ours.


# ==== pkg/a.py ====
# About a.
#
# At length.

# ---- constants ----

# The first.
FIRST = 1  # one
SECOND = [  # a list
    1,  # inside

    # between
    2,
]  # end


# Above the decorator.
@staticmethod  # why
def show():
    # top

    return FIRST, SECOND  # bottom
    # after

# indented less


# Last words.


# ==== pkg/train.py ====
# Entry comment.

# Main.
def main():
    print(show())  # say


if __name__ == "__main__":
    main()

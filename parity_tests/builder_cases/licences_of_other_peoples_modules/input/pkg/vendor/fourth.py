# Just a comment on licensing? No: on numbers.


def four():
    return 4


# Copyright in the middle of a file is no header.
def unused():
    return 5

#!/usr/bin/env python
# Copyright 2024 Somebody
# SPDX-License-Identifier: MIT
"""Shapes.

Not a comment in the source, one in the artifact.
"""

# ---- constants ----

NAMES = {  # names
    # of things
    "a": "# no comment",  # but this is
    "b": """
# no comment either


# nor this
""",

    # and this

    "c": f"{1 + 1} # no",  # yes
}
LONG = 1 + \
    2  # behind a continued line


# Above.
def area(
    width,  # type: int
    height,
    # nothing more
):
    # type: (...) -> int
    """The docstring. # stays"""

    # first

    # fmt: off
    x = width*height  # noqa: E226
    # fmt: on
    if x:
        # only a comment above
        return x  # done
        # after
    # between
    else:
        return 0
    # at the end


# After everything.

#!/usr/bin/env python
# -*- coding: utf-8 -*-
# Licence: ours.
"""About a.

At length.
"""

# Imports:
import json

# ---- constants ----

# The first.
FIRST = 1  # one
# Unused.
UNUSED = 2
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

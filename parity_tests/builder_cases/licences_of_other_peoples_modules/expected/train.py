"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

# pkg/vendor/first.py, pkg/vendor/second.py, pkg/vendor/third.py, pkg/vendor/fourth.py:
# Copyright (c) The vendors
#
# Licensed under the Apache License, Version 2.0.

# pkg/vendor/first.py, pkg/vendor/third.py:
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2021 First

# pkg/vendor/second.py:
# Copyright 2019 Second.
#
# Permission is hereby granted, free of charge, to any person.

import json


# ==== pkg/vendor/first.py ====


def one():
    return json.dumps(1)


# ==== pkg/vendor/second.py ====
# The second.
#
# It counts to two.


def two():
    return 2


# ==== pkg/vendor/third.py ====
# Third.

# Not about that.

VALUE = 3


def three():
    return VALUE


# ==== pkg/vendor/fourth.py ====
# Just a comment on licensing? No: on numbers.


def four():
    return 4


# ==== pkg/train.py ====
# Our own notes.


def main():
    print(one(), two(), three(), four())


if __name__ == "__main__":
    main()

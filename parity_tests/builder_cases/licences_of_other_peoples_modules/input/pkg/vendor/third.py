"""Third."""
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2021 First

# Not about that.

VALUE = 3


def three():
    return VALUE

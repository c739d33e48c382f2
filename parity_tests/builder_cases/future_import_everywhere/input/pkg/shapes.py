from __future__ import annotations

import sys


def show(x: Later) -> int:
    return x


class Later:
    pass

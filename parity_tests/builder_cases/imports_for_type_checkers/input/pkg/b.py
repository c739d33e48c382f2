from __future__ import annotations

from .a import work


class Other:
    pass


class Thing(Other):
    def go(self: Thing) -> int:
        return next(work(1))

from __future__ import annotations

from pkg.config import Config


def make_norm(config: Config) -> FastNorm | PlainNorm:
    if config.norm == "fast":
        return FastNorm()
    return PlainNorm()


class FastNorm:
    name = "fast"


class PlainNorm:
    name = "plain"

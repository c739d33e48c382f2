"""The whole table of finding codes."""

from __future__ import annotations

from scorer.findings import CODES, Code


def every_code() -> dict[str, Code]:
    """Every code that can be raised, in order. Whoever defines some is imported here; the judge brings torch along."""
    import scorer.compare
    import scorer.compare.accounts
    import scorer.compare.trials.clock
    import scorer.compare.trials.environment
    import scorer.compare.trials.speed
    import scorer.compare.trials.world
    import scorer.review
    import scorer.room.lane
    import scorer.trusted.judge  # noqa: F401

    return dict(sorted(CODES.items()))

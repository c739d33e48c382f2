"""The first thing in which two runs of one artifact differ, causes before what follows from them."""

from __future__ import annotations

from collections.abc import Iterator

from scorer.compare.case import paired
from scorer.compare.lockstep import first_difference
from scorer.room.receipts import Rank, Receipt, Update


def difference(left: Receipt, right: Receipt) -> str | None:
    """The first difference in words, `right` being the run under other circumstances; None where they are the same."""
    if left.outcome is not right.outcome:
        return f"the run {right.outcome.value}: {right.problem or 'no reason was recorded'}"
    if len(left.ranks) != len(right.ranks):
        return f"{len(right.ranks)} ranks instead of {len(left.ranks)}"
    return next(_differences(left, right), None)


def _differences(left: Receipt, right: Receipt) -> Iterator[str]:
    pairs = list(paired(left, right))
    for here, there in pairs:
        if here.parameters != there.parameters:
            yield f"the model's parameters, rank {there.rank}"
    if (first := first_difference(left, right)) is not None:
        yield str(first)
    for here, there in pairs:
        for mine, theirs in zip(here.updates, there.updates, strict=False):
            if _launches(mine) != _launches(theirs):
                yield f"kernel launches, update {mine.update}, rank {there.rank}"
        if _census(here) != _census(there):
            yield f"operators of update {there.census_update}, rank {there.rank}"
        if len(here.updates) != len(there.updates):
            yield f"{len(there.updates)} updates instead of {len(here.updates)}, rank {there.rank}"
    before = left.checkpoint.tensor_hashes if left.checkpoint else {}
    after = right.checkpoint.tensor_hashes if right.checkpoint else {}
    if names := sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name)):
        yield f"checkpoint tensor {names[0]} ({len(names)} differ)"


def _launches(update: Update) -> list[tuple[str, int, tuple[str, ...]]]:
    return [(row.kernel, row.count, tuple(row.shapes)) for row in update.launches]


def _census(rank: Rank) -> list[tuple[str, str, int]]:
    return sorted((row.operator, row.signature, row.count) for row in rank.census)

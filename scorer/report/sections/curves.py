"""Loss curves of all lanes, and where they part."""

from __future__ import annotations

from dataclasses import dataclass

from scorer.compare.case import Case
from scorer.report.sections import LANES
from scorer.room.receipts import Receipt


@dataclass(frozen=True)
class Series:
    """Mean loss of rank 0's micro-batches, update by update (nats per token)."""

    lane: str
    updates: tuple[float, ...]  # or whatever else the chart runs over
    losses: tuple[float, ...]


@dataclass(frozen=True)
class Curves:
    """Loss curves of all lanes, and the updates at which local and artifact agree or part to the last bit."""

    series: tuple[Series, ...]
    equal: tuple[int, ...]
    different: tuple[int, ...]

    @property
    def divergence(self) -> int | None:
        """First update whose losses differ between local and artifact."""
        return min(self.different, default=None)


def curves(case: Case) -> Curves:
    """The losses that the receipts hold, update by update."""
    series = []
    for lane in LANES:
        receipt = case.receipts.get(lane)
        if receipt is None or not receipt.ranks:
            continue
        updates = [update for update in receipt.ranks[0].updates if update.losses]
        losses = tuple(sum(map(float.fromhex, u.losses)) / len(u.losses) for u in updates)
        if losses:
            series.append(Series(lane.value, tuple(u.update for u in updates), losses))
    equal: list[int] = []
    different: list[int] = []
    local, candidate = case.local, case.artifact_lane
    if local and candidate and local is not candidate:
        left, right = _losses(local), _losses(candidate)
        for update in sorted(left.keys() | right.keys()):
            (equal if left.get(update) == right.get(update) else different).append(update)
    return Curves(tuple(series), tuple(equal), tuple(different))


def _losses(receipt: Receipt) -> dict[int, list[tuple[int, list[str]]]]:
    """Bit-exact losses by update, over all ranks."""
    losses: dict[int, list[tuple[int, list[str]]]] = {}
    for rank in receipt.ranks:
        for update in rank.updates:
            losses.setdefault(update.update, []).append((rank.rank, update.losses))
    return losses

"""What is used for the first time in the charged part of the run, where a device compiles for it."""

from __future__ import annotations

from collections.abc import Iterator

from scorer.compare.case import Case
from scorer.findings import Finding, Severity, define, finding
from scorer.room.receipts import FirstUse, Receipt

RUN033 = define(
    "RUN033",
    title="Something is compiled within the charged time",
    why="A device compiles a kernel or a graph where it is first used with these shapes and constants. After the "
    "start-up that costs charged seconds, in which no update is made; with warm caches nothing of it shows.",
    remedy="Use it once before the start-up ends (an update, or a call whose result is thrown away), or keep shapes "
    "and constants the same throughout.",
    severity=Severity.ADVICE,
)
TELLING = ("kernel", "graph", "batch")  # the most telling first: a new shape of a batch is behind other first uses
SHOWN = 6


def compare(case: Case) -> list[Finding]:
    """Findings about the artifact's run: one for each thing, with every later update that it is compiled anew in."""
    run = case.artifact_lane
    return [] if run is None else [*_charged(case, run)]


def told(use: FirstUse) -> str:
    """A first use in words."""
    if use.what == "graph":
        return f"graph {use.name} of torch.compile"
    if use.what == "batch":
        return f"a batch of {use.signature}"
    return f"kernel {use.name} with ({use.signature})"


def _charged(case: Case, run: Receipt) -> Iterator[Finding]:
    free = max(1, case.profile.budget.startup_updates_excluded)  # the first update has no start-up to be in
    by_update: dict[int, list[FirstUse]] = {}
    rank_of: dict[int, int] = {}
    for rank in run.ranks:
        for use in rank.first_uses:
            if use.update >= free and rank_of.setdefault(use.update, rank.rank) == rank.rank:
                by_update.setdefault(use.update, []).append(use)
    groups: dict[tuple[str, str], list[int]] = {}
    for update in sorted(by_update):
        first = _leader(by_update[update])
        groups.setdefault((first.what, first.name), []).append(update)
    for updates in groups.values():
        yield _finding(case, run, rank_of[updates[0]], by_update[updates[0]], updates)


def _leader(uses: list[FirstUse]) -> FirstUse:
    return min(uses, key=lambda use: TELLING.index(use.what))


def _finding(case: Case, run: Receipt, rank: int, uses: list[FirstUse], updates: list[int]) -> Finding:
    seen = next(one for one in run.ranks if one.rank == rank)
    first, update = _leader(uses), updates[0]
    known = {one.name for one in seen.first_uses if one.what == first.what and one.update < update}
    again = " again, for other arguments," if first.name in known else ""
    made = len(seen.updates)
    when = f"in update {update}" if update < made else "after the last update"
    more = f", with {len(uses) - 1} more" if len(uses) > 1 else ""
    later = f"; and anew in {len(updates) - 1} later ones" if len(updates) > 1 else ""
    return finding(
        RUN033,
        f"{told(first)} is first used {when}{more}: it is compiled{again} after the "
        f"{case.profile.budget.startup_updates_excluded} updates of the start-up, within the charged time{later}",
        **case.at_site(run, first.site),
        lane=run.lane.value,
        rank=rank,
        update=update,
        evidence={
            "first used": [told(use) for use in uses[:SHOWN]],
            "called from": [str(case.place(run, site) or f"{site.file}:{site.line}") for site in first.callers],
            "updates": updates[:SHOWN],
        },
    )

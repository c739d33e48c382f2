"""Updates that took far longer than the others, on the real clock."""

from __future__ import annotations

import statistics

from scorer.compare import first_uses
from scorer.compare.case import Case
from scorer.findings import Finding, Severity, define, finding
from scorer.room.receipts import Rank

RUN034 = define(
    "RUN034",
    title="An update took far longer than the others",
    why="Such an update is most often a compilation, a save or an evaluation within the charged time: the updates that "
    "would have fitted into it are lost.",
    remedy="Look at what the message says of the update. Where the observer saw nothing, look at what the program does "
    "in it, and run again: it may be the machine.",
    severity=Severity.ADVICE,
)
FEWEST = 8  # charged updates, below which a median says little
SHOWN = 5


def compare(case: Case) -> list[Finding]:
    """At most one finding, about the artifact's run: the slowest update, and how many others there are."""
    run = case.artifact_lane
    rank = next((rank for rank in run.ranks if rank.rank == 0), None) if run is not None else None
    if run is None or rank is None or run.clock is None or run.clock.kind != "real":
        return []
    budget = case.profile.budget
    charged = rank.updates[budget.startup_updates_excluded :]
    if len(charged) < FEWEST:
        return []
    median = statistics.median(update.seconds for update in charged)
    slow = [update for update in charged if update.seconds > budget.slow_update_factor * median]
    slow.sort(key=lambda update: -update.seconds)
    if not slow:
        return []
    worst = slow[0]
    others = f"; {len(slow) - 1} others took more than {budget.slow_update_factor:g} times that" if slow[1:] else ""
    site = next((use.site for use in rank.first_uses if use.update == worst.update), None)
    return [
        finding(
            RUN034,
            f"update {worst.update} took {worst.seconds:.2f} s, where the median of {len(charged)} charged updates is "
            f"{median:.2f} s: {seen_in(rank, worst.update)}{others}",
            **case.at_site(run, site),
            lane=run.lane.value,
            rank=0,
            update=worst.update,
            evidence={
                "median": median,
                "slow": [
                    f"update {one.update}: {one.seconds:.2f} s, {seen_in(rank, one.update)}" for one in slow[:SHOWN]
                ],
            },
        )
    ]


def seen_in(rank: Rank, update: int) -> str:
    """What the observer saw in an update that takes time."""
    seen = [f"{aside.what} of {aside.seconds:.2f} s" for aside in rank.asides if aside.update == update]
    seen += [f"first use of {first_uses.told(use)}" for use in rank.first_uses if use.update == update]
    return ", ".join(seen) or "nothing that the observer saw"

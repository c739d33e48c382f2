"""Where a run's real time went, from the marks that rank 0's observer left.

Times are cut to a fraction of a second whose sums floats hold exactly, so that the parts add up to the whole to the
last bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from scorer.room.receipts import TimeSplit
from scorer.room.records import Journal

FRACTIONS = 1 << 20  # of a second

LAUNCH = "launch"
SET_UP = "set-up"
FIRST_UPDATES = "first updates"
TRAIN = "train"
SAVE = "save"
EVALUATION = "evaluation"
EXIT = "exit"
PARTS = (LAUNCH, SET_UP, FIRST_UPDATES, TRAIN, SAVE, EVALUATION, EXIT)


def split(launched: float, ended: float, journals: Iterable[Journal], excluded: int) -> TimeSplit | None:
    """The split of a run from `launched` to `ended`, seconds of time.monotonic(); None where rank 0 closed no update.

    `excluded`: the updates that count as start-up.
    """
    journal = next((journal for journal in journals if journal.rank.rank == 0), None)
    if journal is None or not journal.update_times:
        return None

    def since_launch(at: float) -> float:
        return round((at - launched) * FRACTIONS) / FRACTIONS

    updates = [since_launch(at) for at in journal.update_times]
    total, last = since_launch(ended), updates[-1]
    started = updates[min(excluded, len(updates)) - 1] if excluded else 0.0
    first_line = since_launch(journal.program_at or journal.started_at)
    # Nothing begins before what comes before it: without a batch or a backward seen, the first update begins there.
    first_update = since_launch(journal.training_at or journal.update_times[0])
    borders = [0.0, first_line, first_update, started, last, total]
    for place in range(1, len(borders)):
        borders[place] = max(borders[place - 1], min(borders[place], total))
    phases = dict(zip((LAUNCH, SET_UP, FIRST_UPDATES, TRAIN, EXIT), itertools.pairwise(borders), strict=True))
    parts = {name: end - begin for name, (begin, end) in phases.items()}
    for span in journal.spans:
        began, finished = since_launch(span.began), since_launch(span.ended)
        for name, (begin, end) in phases.items():
            inside = max(0.0, min(end, finished) - max(begin, began))
            parts[name] -= inside
            parts[span.name] = parts.get(span.name, 0.0) + inside
    return TimeSplit(
        start_up=started,
        train=last - started,
        tail=total - last,
        total=total,
        parts={name: parts[name] for name in PARTS if name in parts},
    )

"""The world trial: one program at several numbers of ranks and one global batch makes the same updates, within what
rounding can do.

Every run is dealt the rows that the ranks of the largest one read (observer/dealt.py): the kit gives each rank other
rows, so without that no two world sizes see the same data. Each micro-batch is then computed as in the other runs, from
the same rows, and what remains is the order in which gradients are added up. The batches' hashes show that it was so.

How far the weights of two runs may be apart after update t (from 1), as a share of the way they have gone from the
start, tensor by tensor in the Euclidean norm:

    e = 2 (n - 1) sqrt(n) u      sums of n micro-batches' gradients in two orders, each rounding by u at most (Higham,
                                 Accuracy and Stability, 4.2: (n - 1) u of the sum of sizes), where the sum of n
                                 terms of random signs is sqrt(n) times smaller than that of their sizes
    a = 2 sqrt(e) + 16 sqrt(e v) an optimizer that divides by the gradient's own size (Adam) turns around what is
                                 smaller than its error: of a share e of the elements, by two steps each; one that
                                 computes in a coarser dtype (Muon) rounds a share e / v of them otherwise, by v each,
                                 and its iterations magnify that
    allowed(1) = a
    allowed(t) = allowed(t - 1) + 2 sqrt(e + sqrt(a v))
                                 weights that are a apart round to other values in a share a / v of the cases, by v each

u is the unit roundoff of the gradients' dtype, v that of the coarsest dtype among the update's operators. The mean loss
may differ by n 2^-24 of itself in the first update, where all weights are equal still, and by v after it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scorer.artifact import Artifact
from scorer.compare import lockstep
from scorer.compare.case import Case
from scorer.compare.control import CTL001
from scorer.compare.trials.result import Trial, conclude
from scorer.contest import Profile
from scorer.findings import Finding, define, finding
from scorer.room import values
from scorer.room.receipts import Lane, Outcome, Receipt

WLD001 = define(
    "WLD001",
    title="The loss depends on the number of ranks",
    why="From the same rows and weights the program computes another loss: something is scaled by the world size, or a "
    "rank does other work. What was tuned at one world size does not hold at another.",
    remedy="Look at what is divided by the number of ranks or micro-batches, and at branches on the rank.",
)
WLD002 = define(
    "WLD002",
    title="The weights depend on the number of ranks",
    why="From the same rows an update leads to other weights, by more than rounding can: gradients are not averaged, "
    "or an optimizer's share is not sent around.",
    remedy="Look at how gradients are reduced, which rank updates the tensor named, and at the learning rate's scale.",
)

UNITS = {"float32": 2.0**-24, "bfloat16": 2.0**-8, "float16": 2.0**-11, "float64": 2.0**-53}
"""Unit roundoff: half the distance from 1 to the next number."""

COLUMNS = ["ranks", "updates", "mean loss", "apart", "allowed", "weights apart", "allowed", "tensor"]
CONTROL = "control"

Values = Mapping[str, np.ndarray]
Run = Callable[[str, Artifact, int, bool], tuple[Receipt, Path]]
"""Runs an artifact (name, artifact, ranks as which batches are dealt, perturbed); its receipt, and where values lie."""


@dataclass(frozen=True)
class Tolerance:
    """What rounding can do: n terms, in the gradients' unit roundoff and in the computation's."""

    terms: int
    gradients: float
    computed: float

    def weights(self, update: int) -> float:
        """The allowed share of the way gone, after an update from 0."""
        error = 2 * (self.terms - 1) * math.sqrt(self.terms) * self.gradients
        first = 2 * math.sqrt(error) + 16 * math.sqrt(error * self.computed)
        return first + update * 2 * math.sqrt(error + math.sqrt(first * self.computed))

    def loss(self, update: int) -> float:
        """The allowed share of the loss."""
        return self.terms * UNITS["float32"] if update == 0 else self.computed


@dataclass(frozen=True)
class _Ran:
    """One run: its ranks, receipt, and the weights at the start and after each update."""

    artifact: Artifact
    receipt: Receipt
    start: Values
    after: Sequence[Values]

    @property
    def ranks(self) -> int:
        return len(self.receipt.ranks)

    def losses(self, update: int) -> list[float]:
        return [float.fromhex(loss) for rank in self.receipt.ranks for loss in rank.updates[update].losses]

    def rows(self, update: int) -> Counter[str]:
        return Counter(row for rank in self.receipt.ranks for row in rank.updates[update].batch_hashes)


class _NotComparedError(Exception):
    """Why runs cannot be compared, in words."""


def run_trial(artifacts: Sequence[tuple[int, Artifact]], profile: Profile, launch: str, run: Run) -> Trial:
    """Run each artifact of (ranks, artifact), of which the last has most ranks, and compare it with the first."""
    most, largest = artifacts[-1]
    findings: list[Finding] = []
    rows: list[list[str]] = []
    facts = {"data": f"every run is dealt the rows of the {most} ranks of the largest one"}
    question = passed = ""
    try:
        ran = []
        for ranks, artifact in artifacts:
            done = _run(f"{ranks} ranks" if ranks > 1 else "1 rank", artifact, most, False, run, findings)
            findings += lockstep.ranks_agree(Case(artifact, {Lane.ARTIFACT: done.receipt}, profile), done.receipt)
            ran.append(done)
        base = ran[0]
        tolerance = _tolerance(base)
        facts["tolerance"] = (
            f"{tolerance.terms} gradients are added up, rounded by {tolerance.gradients:.2g}; computed with "
            f"{tolerance.computed:.2g}: weights may be {tolerance.weights(0):.2g} of their way apart after the first "
            f"update, {tolerance.weights(len(base.after) - 1):.2g} after the last"
        )
        for other in ran[1:]:
            findings += _compare(base, other, tolerance, profile, rows, f"{other.ranks}")
        control = _run(CONTROL, base.artifact, most, True, run, findings)
        if not [*_compare(base, control, tolerance, profile, rows, CONTROL)]:
            findings.append(
                finding(CTL001, "a weight was changed on purpose and stays within the tolerance", lane=CONTROL)
            )
        passed = (
            f"{', '.join(str(each.ranks) for each in ran)} ranks make the same {len(base.after)} updates of the same "
            f"rows, within rounding; a run with a weight changed by 2^-6 does not"
        )
    except _NotComparedError as error:
        question = str(error)
    return conclude(
        largest, launch, profile, findings, passed, question, trial="world", facts=facts, columns=COLUMNS, rows=rows
    )


def _run(name: str, artifact: Artifact, most: int, perturbed: bool, run: Run, findings: list[Finding]) -> _Ran:
    receipt, keep = run(name, artifact, most, perturbed)
    if receipt.outcome is not Outcome.COMPLETE:
        findings += (Finding.model_validate(found) for found in receipt.observed_findings)
        raise _NotComparedError(f"{name}: the run {receipt.outcome.value}: {receipt.problem}")
    made = min((len(rank.updates) for rank in receipt.ranks), default=0)
    kept = [values.read(keep, None), *(values.read(keep, update) for update in range(made))]
    found = [each for each in kept if each is not None]
    after = found[1:]
    if len(found) < 2 or kept[0] is None:
        raise _NotComparedError(
            f"{name}: the weights of no update were recorded; let the run make one, and see the disk"
        )
    return _Ran(artifact, receipt, found[0], after)


def _tolerance(base: _Ran) -> Tolerance:
    rank = base.receipt.ranks[0]
    gradients = max((UNITS.get(parameter.dtype, 0.0) for parameter in rank.parameters), default=0.0)
    computed = max(
        (unit for row in rank.census for name, unit in UNITS.items() if f"{name}[" in row.signature), default=0.0
    )
    terms = len(base.losses(0))
    return Tolerance(max(2, terms), gradients or UNITS["float32"], computed or UNITS["float32"])


def _compare(
    base: _Ran, other: _Ran, tolerance: Tolerance, profile: Profile, rows: list[list[str]], name: str
) -> Iterator[Finding]:
    """At most one finding: the first update in which the runs are further apart than they may be."""
    case = Case(other.artifact, {Lane.ARTIFACT: other.receipt}, profile)
    told = f"{name} against {base.ranks} rank{'s' if base.ranks > 1 else ''}"
    mean = _mean_of(base, other, tolerance)
    for update in range(min(len(base.after), len(other.after))):
        if (found := base.rows(update)) != other.rows(update) or not found:
            raise _NotComparedError(
                f"{told}: update {update} is not made of the same rows ({other.rows(update).total()} and "
                f"{found.total()} batches, {(found & other.rows(update)).total()} the same); build each with the same "
                f"batch size and with as many micro-batches more as it has ranks less, and let the rows come "
                f"from the kit's loader"
            )
        mine, theirs = mean(base, update), mean(other, update)
        allowed = tolerance.loss(update) * abs(mine)
        tensor, apart = _furthest(base, other, update)
        limit = tolerance.weights(update)
        rows.append(
            [
                *(name, str(update + 1), f"{theirs:.6f}"),
                *(f"{number:.1e}" for number in (abs(theirs - mine), allowed, apart, limit)),
                tensor if apart else "",
            ]
        )
        fields = {"lane": Lane.ARTIFACT.value, "update": update}
        if not abs(theirs - mine) <= allowed:
            yield finding(
                WLD001,
                f"{told}: the mean loss of update {update} is {theirs!r} instead of {mine!r}, "
                f"{abs(theirs - mine):.2g} apart; rounding allows {allowed:.2g}",
                evidence={"loss": theirs, "expected": mine, "allowed": allowed},
                **fields,
                **case.at(case.source.call("backward")),
            )
            return
        if not apart <= limit:
            yield finding(
                WLD002,
                f"{told}: {tensor} {_said(apart)} after update {update}; rounding allows {limit:.2g}",
                evidence={"parameter": tensor, "apart": f"{apart:.6g}", "allowed": limit},
                **fields,
                **case.at(lockstep.parameter_line(case, tensor)),
            )
            return


def _said(apart: float) -> str:
    return f"is {apart:.2g} of its way apart" if math.isfinite(apart) else "moves in one of the runs only, or is none"


def _mean_of(base: _Ran, other: _Ran, tolerance: Tolerance) -> Callable[[_Ran, int], float]:
    """How the loss of an update follows from its micro-batches': most programs divide each by their number on a rank,
    some divide the gradients instead. Which of both it is, the first update shows.
    """

    def added(ran: _Ran, update: int) -> float:
        return math.fsum(ran.losses(update)) / ran.ranks

    def averaged(ran: _Ran, update: int) -> float:
        return math.fsum(ran.losses(update)) / max(1, len(ran.losses(update)))

    allowed = tolerance.loss(0) * abs(averaged(base, 0))
    divided = abs(added(base, 0) - added(other, 0)) <= allowed
    return averaged if not divided and abs(averaged(base, 0) - averaged(other, 0)) <= allowed else added


def _furthest(base: _Ran, other: _Ran, update: int) -> tuple[str, float]:
    """The tensor that is furthest apart, and how far, as a share of its way from the start."""
    worst = ("", 0.0)
    for name in [*base.start, *(name for name in other.start if name not in base.start)]:
        apart = _apart(base, other, update, name)
        if apart > worst[1] or not worst[0]:
            worst = (name, apart)
    return worst


def _apart(base: _Ran, other: _Ran, update: int, name: str) -> float:
    here, there = base.after[update].get(name), other.after[update].get(name)
    if here is None or there is None or here.shape != there.shape:
        return math.inf
    distance = float(np.linalg.norm(there - here))
    way = float(np.linalg.norm(here - base.start[name]))
    if not math.isfinite(distance):
        return math.inf
    return 0.0 if distance == 0 else math.inf if way == 0 else distance / way

"""Lockstep: two runs update by update, bit for bit, and the first thing in which they differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from scorer.compare import calls
from scorer.compare.case import Case, paired
from scorer.findings import Finding, define, finding
from scorer.room.receipts import Rank, Receipt, Update

LCK001 = define(
    "LCK001",
    title="The models have different parameters",
    why="Another name, shape or dtype is another model; nothing after it can agree.",
    remedy="Look for a knob or a branch that decides differently in the artifact.",
)
LCK002 = define(
    "LCK002",
    title="The runs read different data",
    why="Other batches give other weights, and a score that the recipe never had.",
    remedy="Look at how each run makes its loader: split, shards, batch size, ranks, seed.",
)
LCK003 = define(
    "LCK003",
    title="The losses part",
    why="On the same batch and the same weights the programs compute different things.",
    remedy="Compare the forward of both at the place named; the operator table says which operators differ.",
)
LCK004 = define(
    "LCK004",
    title="The gradients part",
    why="The losses still agree, so the backward differs: a kernel's, a scaling, an accumulation or a reduction.",
    remedy="Compare the backward of both for the parameter named.",
)
LCK005 = define(
    "LCK005",
    title="The parameters part after an update",
    why="Losses and gradients still agree, so the optimizer, its schedule or its sharding differs.",
    remedy="Compare the optimizer's groups and the schedule for the parameter named.",
)
LCK006 = define(
    "LCK006",
    title="The runs make different numbers of updates",
    why="More or fewer updates are another score; on the same clock both must stop at the same one.",
    remedy="Look at the stop rule: budget, reserve, a fixed number of steps.",
)
LCK007 = define(
    "LCK007",
    title="Ranks of one run end an update with different weights",
    why="Data parallel ranks must stay equal; from here on each trains a model of its own.",
    remedy="Look at the exchange after the optimizer: a missing broadcast, an update that one rank alone makes.",
)
LCK008 = define(
    "LCK008",
    title="The checkpoints hold different tensors",
    why="What is scored after the upload is then not what was measured.",
    remedy="Compare the save of both runs: precision, keys, which weights (averaged or not).",
)
LCK009 = define(
    "LCK009",
    title="The lockstep window was not seen",
    why="Without hashes of every update in the window, equality was not shown.",
    remedy="Run with the virtual clock, and let the run make at least as many updates as the window has.",
)

STAGES = {"batch_hashes": LCK002, "losses": LCK003, "gradient_hashes": LCK004, "parameter_hashes": LCK005}
"""Parts of an update in the order in which they come about, with the code for a difference in each."""

NAMES = {
    "batch_hashes": "data batch",
    "losses": "loss of micro-batch",
    "gradient_hashes": "gradient of",
    "parameter_hashes": "parameter",
}


@dataclass(frozen=True)
class Difference:
    """The first difference between two runs: what, where, and the two values (None: absent)."""

    update: int
    rank: int
    stage: str
    item: str  # micro-batch or batch number, or parameter name
    left: str | None
    right: str | None
    others: int  # more differences of the same stage in the same update and rank

    def __str__(self) -> str:
        more = f" (and {self.others} more)" if self.others else ""
        return f"{NAMES[self.stage]} {self.item}{more}, update {self.update}, rank {self.rank}"


def first_difference(left: Receipt, right: Receipt) -> Difference | None:
    """The first difference of two runs over the updates that both made: by update, then by stage, then by rank."""
    pairs = list(paired(left, right))
    last = min((min(len(a.updates), len(b.updates)) for a, b in pairs), default=0)
    for index in range(last):
        for stage in STAGES:
            for a, b in pairs:
                found = _in_stage(a, a.updates[index], b.updates[index], stage)
                if found is not None:
                    return found
    return None


def _in_stage(rank: Rank, left: Update, right: Update, stage: str) -> Difference | None:
    here, there = _items(left, stage), _items(right, stage)
    names = [*here, *(name for name in there if name not in here)]
    different = [name for name in names if here.get(name) != there.get(name)]
    if not different:
        return None
    name = different[0]
    return Difference(left.update, rank.rank, stage, name, here.get(name), there.get(name), others=len(different) - 1)


def _items(update: Update, stage: str) -> dict[str, str]:
    values: list[str] | dict[str, str] = getattr(update, stage)
    return values if isinstance(values, dict) else {str(index): value for index, value in enumerate(values)}


def compare(case: Case) -> list[Finding]:
    """Findings of local against artifact, and of each lane's ranks against each other."""
    local, artifact = case.local, case.artifact_lane
    findings = [found for receipt in (artifact, local) if receipt is not None for found in ranks_agree(case, receipt)]
    if local is None or artifact is None:
        return findings
    findings += [*_parameters(case, local, artifact), *_window(case, local, artifact)]
    first = first_difference(local, artifact)
    if first is not None:
        findings.append(_finding(case, first, local, artifact))
    if case.complete(local, artifact):
        findings += [*_counts(case, local, artifact), *_checkpoints(case, local, artifact)]
    return findings


def ranks_agree(case: Case, receipt: Receipt) -> Iterator[Finding]:
    """At most one finding: the first update after which the ranks' parameters differ."""
    for updates in zip(*(rank.updates for rank in receipt.ranks), strict=False):
        for rank, update in zip(receipt.ranks[1:], updates[1:], strict=True):
            first = updates[0].parameter_hashes
            for name in [*first, *(other for other in update.parameter_hashes if other not in first)]:
                if first.get(name) != update.parameter_hashes.get(name):
                    yield finding(
                        LCK007,
                        f"{receipt.lane.value} lane: {name} is not the same on rank {receipt.ranks[0].rank} and rank "
                        f"{rank.rank} after update {update.update}",
                        lane=receipt.lane.value,
                        rank=rank.rank,
                        update=update.update,
                        evidence={"parameter": name},
                        **case.at(case.source.call("step")),
                    )
                    return


def _parameters(case: Case, local: Receipt, artifact: Receipt) -> Iterator[Finding]:
    for here, there in paired(local, artifact):
        left = {p.name: (p.shape, p.dtype, p.device) for p in here.parameters}
        right = {p.name: (p.shape, p.dtype, p.device) for p in there.parameters}
        different = [name for name in [*left, *right] if left.get(name) != right.get(name)]
        if left and right and different:  # a rank that failed early had no model yet
            name = different[0]
            yield finding(
                LCK001,
                f"parameter {name} is {_kind(left.get(name))} in the local run and {_kind(right.get(name))} in the "
                f"artifact's ({len(set(different))} differ)",
                rank=there.rank,
                evidence={"parameters": sorted(set(different))[:20]},
                **case.at(parameter_line(case, name)),
            )
            return


def _window(case: Case, local: Receipt, artifact: Receipt) -> Iterator[Finding]:
    """One finding when a lane that ran to its end shows fewer hashed updates than the window has."""
    if not case.complete(local, artifact):
        return
    for receipt in (local, artifact):
        wanted = max(1, min(case.profile.lockstep.window_updates, _steps(receipt)))
        seen_by_rank = {
            rank.rank: sum(bool(u.losses and u.gradient_hashes and u.parameter_hashes) for u in rank.updates)
            for rank in receipt.ranks
        }
        for rank, seen in (seen_by_rank or {0: 0}).items():
            if seen < wanted:
                yield finding(
                    LCK009,
                    f"{receipt.lane.value} lane: {seen} of {wanted} updates of the lockstep window were recorded whole",
                    lane=receipt.lane.value,
                    rank=rank,
                )
                return


def _steps(receipt: Receipt) -> int:
    return max((len(rank.updates) for rank in receipt.ranks), default=0)


def _counts(case: Case, local: Receipt, artifact: Receipt) -> Iterator[Finding]:
    if len(local.ranks) != len(artifact.ranks):
        yield finding(LCK006, f"the local run has {len(local.ranks)} ranks, the artifact's {len(artifact.ranks)}")
        return
    for here, there in paired(local, artifact):
        if len(here.updates) != len(there.updates):
            yield finding(
                LCK006,
                f"the local run makes {len(here.updates)} updates, the artifact's {len(there.updates)}",
                rank=there.rank,
                evidence={"local": len(here.updates), "artifact": len(there.updates)},
                **case.at(case.source.function("main")),
            )
            return


def _checkpoints(case: Case, local: Receipt, artifact: Receipt) -> Iterator[Finding]:
    left, right = local.checkpoint, artifact.checkpoint
    if left is None or right is None or not left.readable or not right.readable:
        return
    for what, here, there in (
        ("kind", left.tensors, right.tensors),
        ("bytes", left.tensor_hashes, right.tensor_hashes),
    ):
        different = sorted(name for name in here.keys() | there.keys() if here.get(name) != there.get(name))
        if different:
            name = different[0]
            yield finding(
                LCK008,
                f"checkpoint tensor {name} has another {what}: {here.get(name, 'absent')} in the local run, "
                f"{there.get(name, 'absent')} in the artifact's ({len(different)} of {len(here.keys() | there.keys())} "
                "differ)",
                evidence={"tensors": different[:20]},
                **case.at(case.source.save()),
            )
            return


def _finding(case: Case, first: Difference, local: Receipt, artifact: Receipt) -> Finding:
    kit = case.profile.kit.functions
    line = {
        "batch_hashes": case.source.call(kit.dataloader) or case.source.call(kit.documents),
        "losses": case.source.call("backward"),
        "gradient_hashes": parameter_line(case, first.item),
        "parameter_hashes": case.source.call("step"),
    }[first.stage]
    values = f": {_value(first, first.left)} in the local run, {_value(first, first.right)} in the artifact's"
    where, cause = case.at(line), ""
    if first.stage != "batch_hashes":  # whose cause is how the loader is made
        parted = calls.parting(case, local, artifact, first.update, values=True)
        if parted is not None and parted.place is not None:
            where = {"place": parted.place, "artifact_line": parted.line}
            cause = f"; the first call in which they part: {parted}, update {parted.update}"
    return finding(
        STAGES[first.stage],
        f"first difference: {first}{values}{cause}",
        lane=artifact.lane.value,
        rank=first.rank,
        update=first.update,
        evidence={"item": first.item, "local": first.left, "artifact": first.right, "more": first.others},
        **where,
    )


def parameter_line(case: Case, name: str) -> int | None:
    """Line of train.py where the module that holds a parameter is made: the innermost assigned part of its name."""
    for part in reversed(name.split(".")):
        if not part.isdecimal() and part not in ("weight", "bias") and (line := case.source.kept(part)) is not None:
            return line
    return case.source.call("backward")


def _value(difference: Difference, value: str | None) -> str:
    if value is None:
        return "absent"
    return f"{float.fromhex(value)!r}" if difference.stage == "losses" else value[:12]


def _kind(value: Any) -> str:
    if value is None:
        return "absent"
    shape, dtype, device = value
    return f"{dtype}[{','.join(map(str, shape))}] on {device}"

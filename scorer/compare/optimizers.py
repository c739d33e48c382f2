"""Optimizers: who updates which parameter, by which algorithm and values, and whether each one is updated at all."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from scorer.compare.case import Case, paired
from scorer.compare.lockstep import parameter_line
from scorer.findings import Finding, Severity, define, finding
from scorer.room.receipts import Optimizer, Rank, Receipt

OPT001 = define(
    "OPT001",
    title="A parameter is optimized in another way",
    why="Another algorithm, group or owning rank is another training, even where the first updates look alike.",
    remedy="Compare how both programs sort the parameter into optimizers and groups.",
)
OPT002 = define(
    "OPT002",
    title="A hyper-parameter differs at the first update",
    why="The runs then train with other values than those that were measured.",
    remedy="Compare the value at the place named; build from the configuration that the local run uses.",
)
OPT003 = define(
    "OPT003",
    title="A schedule develops differently",
    why="Learning rates that part later give other weights, although the runs begin alike.",
    remedy="Compare what the schedule depends on: step, time, number of updates, rank.",
)
OPT004 = define(
    "OPT004",
    title="No optimizer of any rank holds a trainable parameter",
    why="It keeps the values that it was initialised with, and the score pays for it.",
    remedy="Give the parameter to an optimizer, or set requires_grad to False.",
)
OPT005 = define(
    "OPT005",
    title="Two optimizers of one rank step the same parameter",
    why="It is updated twice in every update, by two algorithms that know nothing of each other.",
    remedy="Give each parameter to one optimizer.",
)
OPT006 = define(
    "OPT006",
    title="A trainable parameter did not change",
    why="An optimizer holds it and no update moves it: no rank owns it, its gradient or learning rate is zero, or its "
    "dtype swallows the step.",
    remedy="Look at who owns the parameter, whether the loss depends on it, and how large a step its dtype can hold.",
)
OPT007 = define(
    "OPT007",
    title="A parameter has more than one owner",
    why="The optimizer deals its parameters out to ranks, and this one to several: work and state exist twice.",
    remedy="Deal each parameter to one rank.",
    severity=Severity.ADVICE,
)


def compare(case: Case) -> list[Finding]:
    """Findings of each lane by itself, the artifact's before the local run's, then of local against artifact."""
    local, artifact = case.local, case.artifact_lane
    findings: list[Finding] = []
    for receipt in (artifact, local):
        if receipt is not None and not findings:
            findings += _by_itself(case, receipt)
    if local is not None and artifact is not None:
        findings += _between(case, local, artifact)
    return findings


def frozen(receipt: Receipt) -> list[str]:
    """Parameters that are not trained on purpose."""
    return [parameter.name for rank in receipt.ranks[:1] for parameter in rank.parameters if not parameter.trainable]


# -- one lane ----------------------------------------------------------------------------------------------------------


def _by_itself(case: Case, receipt: Receipt) -> Iterator[Finding]:
    if not any(rank.optimizers for rank in receipt.ranks):
        return  # no window, or an optimizer that torch does not know
    held = {one.name for rank in receipt.ranks for optimizer in rank.optimizers for one in optimizer.parameters}
    lane = receipt.lane.value
    for rank in receipt.ranks:
        hashed = [update.parameter_hashes for update in rank.updates if update.parameter_hashes]
        for parameter in rank.parameters:
            name, first = parameter.name, parameter.initial_hash
            if first is None or not hashed or not parameter.trainable or any(h.get(name) != first for h in hashed):
                continue
            code, told = (
                (OPT006, f"did not change in {len(hashed)} updates")
                if name in held
                else (OPT004, "is trainable, and no optimizer of any rank holds it")
            )
            message = f"{lane} lane: parameter {name} {told}"
            where = case.at(parameter_line(case, name))
            yield finding(code, message, lane=lane, rank=rank.rank, evidence={"parameter": name}, **where)
            return
        yield from _held_twice(case, receipt, rank)
    yield from _owned_twice(case, receipt)


def _held_twice(case: Case, receipt: Receipt, rank: Rank) -> Iterator[Finding]:
    known: dict[str, str] = {}
    for optimizer in rank.optimizers:
        for one in optimizer.parameters:
            if not one.stepped:  # a wrapper holds what the optimizer inside it steps
                continue
            other = known.setdefault(one.name, optimizer.name)
            if other != optimizer.name:
                yield finding(
                    OPT005,
                    f"{receipt.lane.value} lane: {other} and {optimizer.name} both step parameter {one.name}",
                    lane=receipt.lane.value,
                    rank=rank.rank,
                    evidence={"parameter": one.name},
                    **case.at(case.source.call(_class(optimizer))),
                )
                return


def _owned_twice(case: Case, receipt: Receipt) -> Iterator[Finding]:
    """Of an optimizer that shards: one rank alone changes some of its parameters, and several change another."""
    for name in dict.fromkeys(optimizer.name for rank in receipt.ranks for optimizer in rank.optimizers):
        owners = {parameter: ranks for (holder, parameter), ranks in _owners(receipt).items() if holder == name}
        if len(receipt.ranks) < 2 or all(len(ranks) != 1 for ranks in owners.values()):
            continue
        for parameter, ranks in owners.items():
            if len(ranks) > 1:
                told = ", ".join(map(str, ranks))
                yield finding(
                    OPT007,
                    f"{receipt.lane.value} lane: ranks {told} step {parameter}; others of its {name} have one owner",
                    lane=receipt.lane.value,
                    rank=ranks[1],
                    evidence={"parameter": parameter, "owners": ranks},
                    **case.at(case.source.call("step")),
                )
                return


def _owners(receipt: Receipt) -> dict[tuple[str, str], list[int]]:
    """(optimizer, parameter) -> the ranks whose optimizer changed it."""
    owners: dict[tuple[str, str], list[int]] = {}
    for rank in receipt.ranks:
        for optimizer in rank.optimizers:
            for one in optimizer.parameters:
                if one.stepped:
                    owners.setdefault((optimizer.name, one.name), []).append(rank.rank)
    return owners


# -- two lanes ---------------------------------------------------------------------------------------------------------


def _between(case: Case, local: Receipt, artifact: Receipt) -> Iterator[Finding]:
    """At most one finding: of the way a parameter is optimized, else of the first value that differs."""
    for here, there in paired(local, artifact):
        if not here.optimizers or not there.optimizers:
            continue
        found = _plans(case, local, artifact, here, there) or _values(case, here, there)
        if found is not None:
            yield found.model_copy(update={"lane": artifact.lane.value, "rank": there.rank})
            return


def _plans(case: Case, local: Receipt, artifact: Receipt, here: Rank, there: Rank) -> Finding | None:
    left, right = _plan(here), _plan(there)
    for name in [*left, *(other for other in right if other not in left)]:
        a, b = left.get(name), right.get(name)
        if a is not None and b is not None and a[1:] == b[1:] and _same(case, local, artifact, a[0], b[0]):
            continue
        line = case.source.call(_class(b[0])) if b is not None else _group(case, left[name][1])
        return finding(
            OPT001,
            f"parameter {name} is {_told(a)} in the local run and {_told(b)} in the artifact's",
            evidence={"parameter": name},
            **case.at(line or parameter_line(case, name)),
        )
    return None


def _plan(rank: Rank) -> dict[str, tuple[Optimizer, int, bool]]:
    """Parameter -> (optimizer, group, whether this rank steps it)."""
    return {
        one.name: (optimizer, one.group, one.stepped) for optimizer in rank.optimizers for one in optimizer.parameters
    }


def _same(case: Case, local: Receipt, artifact: Receipt, a: Optimizer, b: Optimizer) -> bool:
    """Whether both are one class: of the same name, or the same lines under a name that the builder chose."""
    place = case.place(local, a.site)
    return a.algorithm == b.algorithm or (place is not None and place == case.place(artifact, b.site))


def _told(entry: tuple[Optimizer, int, bool] | None) -> str:
    if entry is None:
        return "held by no optimizer"
    optimizer, group, stepped = entry
    return f"{'stepped' if stepped else 'held, not stepped,'} by {optimizer.algorithm} (group {group})"


def _values(case: Case, here: Rank, there: Rank) -> Finding | None:
    """The first update in which a value of a group differs. Optimizers pair by their order, their names may differ."""
    names = {a.name: b.name for a, b in zip(here.optimizers, there.optimizers, strict=False)}
    classes = {b.name: _class(b) for b in there.optimizers}
    for left, right in zip(here.updates, there.updates, strict=False):
        for group, values in left.groups.items():
            optimizer, _, number = group.rpartition(".")
            other = names.get(optimizer, optimizer)
            others = right.groups.get(f"{other}.{number}", {})
            different = [name for name in [*values, *others] if values.get(name) != others.get(name)]
            if not different:
                continue
            name = different[0]
            mine, theirs = _shown(values.get(name)), _shown(others.get(name))
            alone = len(set(different)) == 1
            line = _line(case, classes.get(other, other), name, others.get(name), alone)
            return finding(
                OPT002 if left.update == 0 else OPT003,
                f"{name} of group {number} of {other} is {mine} in the local run and {theirs} in the artifact's at "
                f"update {left.update}",
                update=left.update,
                evidence={"group": group, "value": name, "local": mine, "artifact": theirs},
                **case.at(line),
            )
    return None


def _line(case: Case, optimizer: str, name: str, value: Any, alone: bool) -> int | None:
    """Where a value comes from: what sets it alone later on, else the argument that the optimizer is made with."""
    nodes = list(ast.walk(case.source.tree))
    stored = [
        node.lineno
        for node in nodes
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and _is(node.slice, name)
    ]
    if alone and stored:
        return min(stored)
    calls = [node for node in nodes if isinstance(node, ast.Call) and _called(node) == optimizer]
    given: list[tuple[bool, int]] = []
    for node in (part for call in calls for part in ast.walk(call)):
        pairs: list[tuple[bool, ast.expr]] = []
        if isinstance(node, ast.Dict):
            pairs = [
                (key is not None and _is(key, name), part) for key, part in zip(node.keys, node.values, strict=True)
            ]
        elif isinstance(node, ast.keyword):
            pairs = [(node.arg == name, node.value)]
        given += [(not _holds(part, value), part.lineno) for matches, part in pairs if matches]
    if given:
        return min(given)[1]
    return min((call.lineno for call in calls), default=None) or case.source.call("step")


def _group(case: Case, number: int) -> int | None:
    """Where a group of parameters is made, where the program writes out one list of groups."""
    lists = [
        node.elts
        for node in ast.walk(case.source.tree)
        if isinstance(node, ast.List) and node.elts and all(map(_makes_group, node.elts))
    ]
    return lists[0][number].lineno if len(lists) == 1 and number < len(lists[0]) else None


def _makes_group(node: ast.expr) -> bool:
    return isinstance(node, ast.Dict) and any(key is not None and _is(key, "params") for key in node.keys)


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == name


def _holds(node: ast.expr, value: Any) -> bool:
    return isinstance(node, ast.Constant) and isinstance(value, str) and node.value == float.fromhex(value)


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _class(optimizer: Optimizer) -> str:
    return optimizer.algorithm.rpartition(".")[2]


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return repr(float.fromhex(value))
    if isinstance(value, list):
        return f"({', '.join(map(_shown, value))})"
    return "absent" if value is None else repr(value)

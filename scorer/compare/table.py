"""The three-column table."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from scorer.compare.case import Case
from scorer.compare.environment import matters
from scorer.compare.knobs import same
from scorer.compare.optimizers import frozen
from scorer.compare.result import Row
from scorer.room.receipts import Evaluation, Receipt
from scorer.trusted import settings as ways

SHOWN = 5


def rows(case: Case) -> list[Row]:
    """What ran, what came out, and what it scores, lane by lane."""
    local, artifact, trusted = case.local, case.artifact_lane, case.trusted

    def row(label: str, tell: Callable[[Receipt], str], compared: bool = True) -> Row:
        here, there = (tell(lane) if lane is not None else "" for lane in (local, artifact))
        agree = here == there if compared and here and there else None
        return Row(label, here, there, "", agree)

    table = [
        Row("outcome", _outcome(local), _outcome(artifact), _outcome(trusted), None),
        _knobs(case),
        row("ranks", lambda lane: str(len(lane.ranks))),
        row("updates", lambda lane: str(max((len(rank.updates) for rank in lane.ranks), default=0))),
        row("parameters", _optimized),
        row("last loss", _last_loss),
        row("parameters after the window", _window_hash),
        _checkpoint(case),
        row("kernel launches, one update", _launches),
        row("operators, one update", _operators),
        row("environment that matters", lambda lane: _environment(case, lane)),
        *_scores(case),
        Row("seconds", _seconds(local), _seconds(artifact), _seconds(trusted), None),
    ]
    return [entry for entry in table if entry.local or entry.artifact or entry.trusted]


def _outcome(lane: Receipt | None) -> str:
    return lane.outcome.value if lane is not None else ""


def _knobs(case: Case) -> Row:
    held = case.local.ranks[0].knobs if case.local and case.local.ranks else {}
    frozen = {name: knob["value"] for name, knob in case.manifest.get("knobs", {}).items()}
    common = held.keys() & frozen.keys()
    different = sorted(name for name in common if not same(held[name], frozen[name]))
    return Row(
        "knobs",
        f"{len(held)} held" if held else "",
        f"{len(frozen)} frozen" + (f", {', '.join(different)} differ" if different else "") if frozen else "",
        "",
        not different if common else None,
    )


def _optimized(lane: Receipt) -> str:
    """How many parameters each algorithm steps on any rank, and which are frozen."""
    stepped: dict[str, set[str]] = {}
    for optimizer in (optimizer for rank in lane.ranks for optimizer in rank.optimizers):
        name = optimizer.algorithm.rpartition(".")[2]
        stepped.setdefault(name, set()).update(one.name for one in optimizer.parameters if one.stepped)
    told = [f"{len(names)} stepped by {algorithm}" for algorithm, names in stepped.items()]
    still = frozen(lane)
    return ", ".join([*told, *([f"{len(still)} frozen: {' '.join(still[:SHOWN])}"] if still else [])])


def _last_loss(lane: Receipt) -> str:
    losses = [update.losses[-1] for rank in lane.ranks[:1] for update in rank.updates if update.losses]
    return f"{float.fromhex(losses[-1]):.6f}" if losses else ""


def _window_hash(lane: Receipt) -> str:
    hashed = [update.parameter_hashes for rank in lane.ranks for update in rank.updates if update.parameter_hashes]
    return _short(*(f"{name}={value}" for hashes in hashed for name, value in sorted(hashes.items()))) if hashed else ""


def _checkpoint(case: Case) -> Row:
    def told(lane: Receipt | None) -> str:
        if lane is None or lane.checkpoint is None:
            return ""
        if not lane.checkpoint.readable:
            return "not readable"
        return _short(*(f"{name}={value}" for name, value in sorted(lane.checkpoint.tensor_hashes.items())))

    here, there, scored = told(case.local), told(case.artifact_lane), told(case.trusted)
    known = [cell for cell in (here, there, scored) if cell]
    return Row("checkpoint tensors", here, there, scored, len(set(known)) == 1 if len(known) > 1 else None)


def _launches(lane: Receipt) -> str:
    updates = [update for rank in lane.ranks[:1] for update in rank.updates]
    if not updates:
        return ""
    counts = sorted({sum(launch.count for launch in update.launches) for update in updates})
    kinds = {launch.kernel for update in updates for launch in update.launches}
    return f"{' or '.join(map(str, counts))} of {len(kinds)} kernels"


def _operators(lane: Receipt) -> str:
    census = [call for rank in lane.ranks[:1] for call in rank.census]
    return f"{sum(call.count for call in census):,} calls of {len(census)} kinds" if census else ""


def _environment(case: Case, lane: Receipt) -> str:
    if not lane.ranks:
        return ""
    variables = {name: value for name, value in lane.ranks[0].environment_end.items() if matters(case.profile, name)}
    return f"{len(variables)} variables, {_short(*(f'{n}={v}' for n, v in sorted(variables.items())))}"


def _scores(case: Case) -> list[Row]:
    try:
        recipe = ways.recipe_evaluations(case.local) if case.local else []
    except ValueError:  # told by the trusted lane (SCR007)
        recipe = []
    measured = case.trusted.evaluations if case.trusted else []
    table = []
    saved = next((e for e in recipe if e.name == ways.RECIPE_CHECKPOINT), None)
    own = ways.local_settings(case.local) if recipe else None
    if own is not None and saved is not None:
        table.append(_score("val_bpb, recipe's settings", saved, ways.trusted(measured, own), case))
    by_command = next((e for e in measured if e.name == ways.EVAL_PUBLIC), None)  # in one process, whatever the world
    settings = case.profile.evaluation.public
    public = by_command if settings.world_size == 1 else None
    table.append(_score("val_bpb, public settings", None, ways.trusted(measured, settings), case, public))
    if settings.world_size != 1:
        one = ways.trusted(measured, ways.one_rank(case.profile))
        table.append(_score("val_bpb, public settings on one rank", None, one, case, by_command))
    for one in measured:
        if one.name.startswith(ways.KIT_EVALUATION):
            label = f"val_bpb,{one.name.removeprefix(ways.KIT_EVALUATION).removeprefix(',')}, by the kit's own code"
            table.append(_score(label, None, ways.same_settings(measured, one), case, one))
    table.append(
        _score("val_bpb, official settings", None, ways.trusted(measured, case.profile.evaluation.official), case)
    )
    for check in case.trusted.kit_checks if case.trusted else []:
        outcome = f"{'passed' if check.passed else 'failed'}, largest change {float.fromhex(check.max_abs_diff):.3g}"
        table.append(Row(f"{check.name}, the kit's own", "", "", outcome, check.passed))
    return table


def _score(
    label: str, local: Evaluation | None, ours: Evaluation | None, case: Case, public: Evaluation | None = None
) -> Row:
    def told(evaluation: Evaluation | None) -> str:
        return f"{float.fromhex(evaluation.val_bpb):.6f}" if evaluation is not None else ""

    other = local or public
    agree = None
    if other is not None and ours is not None:
        apart = abs(float.fromhex(other.val_bpb) - float.fromhex(ours.val_bpb))
        agree = apart <= case.profile.evaluation.agreement_bpb
    return Row(label, told(local), told(public), told(ours), agree)


def _seconds(lane: Receipt | None) -> str:
    if lane is None:
        return ""
    if lane.time is not None:
        return f"{lane.time.total:.1f}"
    total = sum(evaluation.seconds for evaluation in lane.evaluations)
    return f"{total:.1f}" if total else ""


def _short(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]

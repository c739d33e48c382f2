"""The kit's own numbers: its `evaluate_bpb` and `causality_check`, called as they are on the model that is judged.

The kit runs in its own process with a model whose logits come from the submission's process (see kit_host), so no code
of a submission is beside it. Its number is compared with the judge's, which is computed from logits by other code:

    tokens, bytes   equal
    nats            within the profile's agreement_bpb, which is that many x ln 2 x bytes
    val_bpb         nats / (ln 2 x bytes) of its own nats and bytes, within agreement_bpb
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from scorer.contest import EvaluationSettings, Profile
from scorer.findings import Finding, Severity, define
from scorer.room.receipts import Evaluation, KitCheck
from scorer.trusted import settings as ways
from scorer.trusted.kit_process import Forward, KitProcess, KitProcessError
from scorer.trusted.nats import rows
from scorer.trusted.settings import bits_per_byte
from scorer.trusted.sources import Source
from scorer.trusted.streams import Streams

SCR011 = define(
    "SCR011",
    title="The kit's own evaluation and the judge's disagree",
    why="Both scored the same logits under the same settings; where nats, bytes or tokens differ, one of them counts "
    "otherwise than the contest's profile says, and no number here predicts the official one.",
    remedy="Compare the kit's evaluation with the profile: windows, special tokens, byte table, logarithm. Nothing "
    "in the submission changes it.",
)
SCR012 = define(
    "SCR012",
    title="The kit's own evaluation cannot be run",
    why="What was not run was not checked: the judge's number stands alone.",
    remedy="The message holds the kit's own error and its line; see that the kit is whole and the profile's version.",
)
SCR013 = define(
    "SCR013",
    title="The kit's causality check fails",
    why="The organiser's own check says that logits move when later tokens change: such a submission is refused.",
    remedy="Mask attention causally; pad convolutions on the left only; normalise over features, never over time.",
)
SCR014 = define(
    "SCR014",
    title="The kit's causality check and the judge's own test disagree",
    why="One of them sees what the other does not: the kit changes one part of a row, the judge every part, and their "
    "tolerances differ.",
    remedy="Believe the one that fails, and look at the largest change that it reports.",
    severity=Severity.ADVICE,
)


def evaluate(
    source: Source,
    profile: Profile,
    kits: Mapping[int, KitProcess],
    streams: Streams,
    forward: Forward,
    evaluations: Sequence[Evaluation],
) -> tuple[list[Evaluation], list[Finding]]:
    """The kit's number under each of the profile's cross-check settings, and how it differs from the judge's.

    `kits` are the kit's processes by world size. Whatever `forward` raises passes through.
    """
    measured, findings = [], []
    for name in profile.evaluation.cross_check:
        settings: EvaluationSettings = getattr(profile.evaluation, name)
        ours = ways.trusted(evaluations, settings)
        if ours is None:
            continue  # there were no tokens, which has its own finding
        asked = _Asked(forward)
        try:
            result = _run(profile, kits[settings.world_size], settings, asked)
        except KitProcessError as error:
            message = f"{profile.kit.functions.evaluate} under the {name} settings: {error}"
            findings.append(source.raise_at(SCR012, message, None, evidence={"settings": name}))
            continue
        theirs = Evaluation(
            name=f"{ways.KIT_EVALUATION}, {name} settings",
            device=ours.device,
            num_tokens=result.num_tokens,
            num_bytes=result.num_bytes,
            total_nats=result.total_nats.hex(),
            val_bpb=result.val_bpb.hex(),
            seconds=result.seconds,
            **settings.model_dump(exclude={"max_tokens"}),
        )
        measured.append(theirs)
        other_rows = asked.compare(streams, settings)
        for quantity, message in _differences(profile, result, ours, other_rows):
            evidence = {"quantity": quantity, "settings": name, "rows": other_rows}
            text = f"{profile.kit.functions.evaluate} under the {name} settings: {message}"
            findings.append(source.raise_at(SCR011, text, None, evidence=evidence))
    return measured, findings


@dataclass(frozen=True)
class _Result:
    """What evaluate_bpb returned."""

    num_tokens: int
    num_bytes: int
    total_nats: float
    val_bpb: float
    timeout: object  # as returned; None where it returns none
    over_timeout: object
    seconds: float


def _run(profile: Profile, kit: KitProcess, settings: EvaluationSettings, asked: _Asked) -> _Result:
    limit = profile.budget.eval_timeout_seconds
    needed = ["max_tokens"] + (["split"] if settings.split != profile.evaluation.public.split else [])
    options = {"split": settings.split, "max_tokens": settings.max_tokens, "timeout_seconds": limit}
    kit.start("evaluate", batch_size=settings.batch_size, seq_len=settings.seq_len, options=options, needed=needed)
    done = kit.finish(limit, asked.forward)
    returned: dict[str, Any] = done["result"]
    wanted: dict[str, type] = {"val_bpb": float, "num_tokens": int, "num_bytes": int, "total_nats": float}
    missing = [name for name, kind in wanted.items() if not _is_number(returned.get(name), kind)]
    if missing:
        raise KitProcessError(f"it returns no number {', '.join(missing)}: {returned}")
    numbers = {name: kind(returned[name]) for name, kind in wanted.items()}
    return _Result(
        **numbers,
        timeout=returned.get("eval_timeout"),
        over_timeout=returned.get("eval_over_timeout"),
        seconds=done["seconds"],
    )


def _is_number(value: object, kind: type) -> bool:
    """Whether a value is a number, and for a count a whole one."""
    return isinstance(value, int | float) and (kind is float or (math.isfinite(value) and value == int(value)))


def _differences(profile: Profile, theirs: _Result, ours: Evaluation, other_rows: str) -> list[tuple[str, str]]:
    """(quantity, message) of everything that should agree and does not."""
    found = []
    for quantity, there, here in (
        ("tokens", theirs.num_tokens, ours.num_tokens),
        ("bytes", theirs.num_bytes, ours.num_bytes),
    ):
        if there != here:
            found.append((quantity, f"it counts {there:,} {quantity}, the judge {here:,}{other_rows}"))
    agreement = profile.evaluation.agreement_bpb
    allowed = agreement * math.log(2) * ours.num_bytes
    apart = theirs.total_nats - float.fromhex(ours.total_nats)
    if not abs(apart) <= allowed:
        message = (
            f"it sums up {theirs.total_nats:,.6f} nats, the judge {float.fromhex(ours.total_nats):,.6f}: {apart:+.6f}, "
            f"allowed {allowed:.6f} ({agreement:g} bpb){other_rows}"
        )
        found.append(("nats", message))
    own = bits_per_byte(theirs.total_nats, theirs.num_bytes) if theirs.num_bytes else math.nan
    if not abs(theirs.val_bpb - own) <= agreement:
        message = (
            f"its val_bpb is {theirs.val_bpb:.6f}, its own nats / (ln 2 x bytes) are {own:.6f}: another logarithm, or "
            "another sum than it returns"
        )
        found.append(("val_bpb", message))
    limit = profile.budget.eval_timeout_seconds
    timed = theirs.timeout if isinstance(theirs.timeout, int | float) else None
    if timed is not None and not isinstance(timed, bool) and timed != limit:
        found.append(("eval_timeout", f"it says that its time limit is {timed:g} s, it was given {limit:g} s"))
    if theirs.over_timeout or theirs.timeout is True:
        found.append(("eval_over_timeout", f"it says that it ran over its time limit of {limit:g} s"))
    return found


class _Asked:
    """Passes the kit's batches on, and remembers which rows they had."""

    def __init__(self, forward: Forward) -> None:
        self._forward = forward
        self._rows: Counter[bytes] = Counter()

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Logits of a batch."""
        self._rows.update(map(_digest, tokens))
        return self._forward(tokens)

    def compare(self, streams: Streams, settings: EvaluationSettings) -> str:
        """In words, how the kit's rows differ from the judge's; empty where they are the same, in any order."""
        wanted: Counter[bytes] = Counter()
        first: dict[bytes, str] = {}
        for rank in range(settings.world_size):
            stream = streams.stream(settings.split, rank, settings.world_size, ways.per_rank(settings))
            row = 0
            for inputs, _ in rows(stream, settings.batch_size, settings.seq_len):
                for one in inputs:
                    key = _digest(one)
                    wanted[key] += 1
                    first.setdefault(key, f"row {row} of rank {rank}, {len(one)} tokens")
                    row += 1
        lacking, added = wanted - self._rows, self._rows - wanted
        if not lacking and not added:
            return ""
        words = f"; it ran {self._rows.total()} rows, the judge {wanted.total()}"
        if lacking:
            words += f", {lacking.total()} of which it left out, the first {first[next(iter(lacking))]}"
        return words + (f", and {added.total()} rows that the judge did not" if added else "")


def _digest(row: torch.Tensor) -> bytes:
    return hashlib.blake2b(row.numpy().tobytes(), digest_size=16).digest()


def causality(
    source: Source, profile: Profile, kit: KitProcess, forward: Forward, found: Sequence[Finding], looks_ahead: str
) -> tuple[list[KitCheck], list[Finding]]:
    """The kit's causality_check, and whether it says the same as the judge's test.

    `found` are the purity tests' findings, `looks_ahead` the code of the one that it should agree with.
    """
    name = profile.kit.functions.causality
    settings = profile.evaluation.public
    count = min(profile.evaluation.causality_rows, settings.batch_size)
    kit.start("causality", batch_size=count, seq_len=settings.seq_len, options={}, needed=[])
    try:
        done = kit.finish(profile.budget.eval_timeout_seconds, forward)
        returned = done["result"]
        passed, largest = returned.get("passed"), returned.get("max_abs_diff")
        if not isinstance(passed, bool | int) or not isinstance(largest, int | float):
            raise KitProcessError(f"it returns no passed and max_abs_diff: {returned}")
    except KitProcessError as error:
        return [], [source.raise_at(SCR012, f"{name}: {error}", None, evidence={"settings": "causality"})]
    check = KitCheck(
        name=name,
        batch_size=count,
        seq_len=settings.seq_len,
        passed=bool(passed),
        max_abs_diff=float(largest).hex(),
        seconds=done["seconds"],
    )
    ours = next((one for one in found if one.code == looks_ahead), None)
    line = ours.artifact_line if ours else source.loader()
    findings = []
    says = f"{name} on {count} x {settings.seq_len} tokens: largest change {float(largest):.3g}"
    if not passed:
        findings.append(source.raise_at(SCR013, f"{says}, not passed", line))
    if bool(passed) == bool(ours):
        message = (
            f"{says}, passed; the judge's test: {ours.message}" if ours else f"{says}; the judge's test finds none"
        )
        findings.append(source.raise_at(SCR014, message, line))
    return [check], findings

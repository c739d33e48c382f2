"""What every report shows, drawn from a comparison and its receipts: plain values, in display order, ready to print.

`view()` is the only reader of receipts in this package; the terminal, the page, the JSON and the JUnit file print what
it returns and compute nothing. Nothing in it depends on the clock, the machine's paths or the order of dictionaries.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scorer.artifact import Artifact
from scorer.compare import Comparison
from scorer.compare.offsets import SAVED
from scorer.contest import Profile
from scorer.findings import CODES, Finding, Severity
from scorer.report.purity_table import PurityView, purity
from scorer.room.receipts import Lane, OperatorCall, Outcome, Receipt, Site
from scorer.trusted.settings import (
    EVAL_PUBLIC,
    IN_MEMORY,
    KIT_EVALUATION,
    LOCAL_SETTINGS,
    OFFICIAL_SETTINGS,
    PUBLIC_SETTINGS,
    RECIPE_CHECKPOINT,
    recipe_evaluations,
)

LANES = (Lane.LOCAL, Lane.ARTIFACT, Lane.TRUSTED, Lane.CONTROL, Lane.REHEARSAL)
"""Display order of lanes."""

_LOG_LINES = 15
_LINE = 100
_ABSOLUTE = re.compile(r"(?<![\w./~>-])/(?:[^\s:;,'\"=/]+/)*([^\s:;,'\"=/]+)/?")


@dataclass(frozen=True)
class FindingView:
    """One finding with the documentation of its code."""

    code: str
    title: str
    message: str
    hard: bool
    place: str  # "recipe/model.py:12", or "" when the finding has none
    artifact_line: int | None
    where: str  # "artifact lane, rank 0, update 3", or ""
    evidence: tuple[tuple[str, str], ...]
    why: str
    remedy: str


@dataclass(frozen=True)
class RowView:
    """One row of the three-column table; `agree` is None where the row is not a comparison."""

    label: str
    local: str
    artifact: str
    trusted: str
    agree: bool | None


@dataclass(frozen=True)
class Series:
    """Mean loss of rank 0's micro-batches, update by update (nats per token)."""

    lane: str
    updates: tuple[int, ...]
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


@dataclass(frozen=True)
class OffsetView:
    """One named part of the difference between the recipe's own number and the official one, in bits per byte."""

    name: str
    start: float
    end: float
    part: float
    left: float  # per cent of the waterfall's width
    width: float


@dataclass(frozen=True)
class KernelView:
    """Launches of one kernel per update and rank."""

    kernel: str
    expected: str
    local: str
    artifact: str
    agree: bool
    shapes: tuple[str, ...]
    place: str


@dataclass(frozen=True)
class OperatorView:
    """One operator whose count in the census of one update differs between local and artifact."""

    operator: str
    signature: str
    local: int
    artifact: int
    place: str


@dataclass(frozen=True)
class TimeView:
    """Seconds of one lane by phase; `width` is the lane's total in per cent of the longest lane's."""

    lane: str
    parts: tuple[tuple[str, float, float], ...]  # (phase, seconds, per cent of this lane's total)
    total: float
    width: float
    updates: int
    median: float | None  # seconds per update after the excluded ones


@dataclass(frozen=True)
class EnvironmentView:
    """One environment variable as rank 0 of each lane saw it at start."""

    name: str
    local: str
    artifact: str
    agree: bool
    matters: str  # what the profile says that it changes, or ""


@dataclass(frozen=True)
class KnobView:
    """One frozen knob of the artifact."""

    name: str
    value: str
    origin: str
    held: str  # what the artifact lane's program held at run time where that differs, or ""


@dataclass(frozen=True)
class TroubleView:
    """A lane that did not end well: what went wrong, and the last lines that it printed."""

    lane: str
    outcome: str
    problem: str
    log: tuple[str, ...]


@dataclass(frozen=True)
class View:
    """Everything a report shows."""

    verdict: str
    reason: str  # the comparison's own words
    sentence: str  # the same without the first finding, which is shown by itself
    contest: str
    contest_name: str
    subject: str  # artifact's SHA-256
    size_bytes: int
    size_limit_bytes: int
    launch: str
    headline: tuple[tuple[str, str, str], ...]  # (label, value, note)
    first: FindingView | None
    first_label: str
    findings: tuple[FindingView, ...]  # the most telling first
    troubles: tuple[TroubleView, ...]
    columns: tuple[tuple[str, str], ...]  # (field of the rows, lane): columns that say anything
    rows: tuple[RowView, ...]
    curves: Curves
    offsets: tuple[OffsetView, ...]
    offset_start: str  # the measurement that the first part starts from
    offset_range: tuple[float, float]
    kernels: tuple[KernelView, ...]
    operators: tuple[OperatorView, ...]
    operators_compared: int
    times: tuple[TimeView, ...]
    environment: tuple[EnvironmentView, ...]
    knobs: tuple[KnobView, ...]
    purity: tuple[PurityView, ...]
    purity_seconds: float | None
    provenance: tuple[tuple[str, str], ...]

    @property
    def hard(self) -> tuple[FindingView, ...]:
        """Findings that decide the verdict."""
        return tuple(finding for finding in self.findings if finding.hard)

    @property
    def advice(self) -> tuple[FindingView, ...]:
        """Findings that are shown only."""
        return tuple(finding for finding in self.findings if not finding.hard)


def view(comparison: Comparison, receipts: Mapping[Lane, Receipt], artifact: Artifact, profile: Profile) -> View:
    """Draw everything that the reports show from a comparison and the receipts it was made of."""
    local, candidate = receipts.get(Lane.LOCAL), receipts.get(Lane.ARTIFACT) or receipts.get(Lane.REHEARSAL)
    shown = [finding_view(finding) for finding in comparison.findings]
    offsets, offset_range = _offsets(comparison)
    operators, compared = _operators(artifact, local, candidate)
    return View(
        verdict=comparison.verdict,
        reason=plain(comparison.reason),
        sentence=_sentence(comparison, shown),
        contest=profile.title,
        contest_name=f"{profile.name} v{profile.version}",
        subject=artifact.sha256,
        size_bytes=len(artifact.source.encode()),
        size_limit_bytes=profile.files.size_limit_bytes,
        launch=candidate.launch.text if candidate and candidate.launch else artifact.launch_command,
        headline=_headline(receipts),
        first=shown[0] if shown and comparison.verdict != "pass" else None,
        first_label=_first_label(comparison, shown),
        findings=tuple(shown),
        troubles=_troubles(receipts),
        columns=_columns(comparison, receipts),
        rows=_rows(comparison),
        curves=_curves(receipts, local, candidate),
        offsets=offsets,
        offset_start=IN_MEMORY if offsets and offsets[0].name == SAVED else PUBLIC_SETTINGS,
        offset_range=offset_range,
        kernels=_kernels(artifact, local, candidate),
        operators=operators,
        operators_compared=compared,
        times=_times(receipts, profile),
        environment=_environment(local, candidate, profile),
        knobs=_knobs(artifact, candidate),
        purity=purity(receipts.get(Lane.TRUSTED)),
        purity_seconds=receipts[Lane.TRUSTED].purity_seconds if Lane.TRUSTED in receipts else None,
        provenance=_provenance(receipts, artifact, profile),
    )


_DIFFERENCES = ("KNB", "ENV", "KRN", "OPS", "LCK", "SCR")


def _sentence(comparison: Comparison, shown: Sequence[FindingView]) -> str:
    hard = sum(finding.hard for finding in shown)
    if comparison.verdict == "fail":
        return (
            f"{hard} findings stand against the submission."
            if hard > 1
            else "One finding stands against the submission."
        )
    if comparison.verdict == "inconclusive" and shown:
        return "The evidence does not decide: nothing stands against the submission, nothing was refuted."
    reason = plain(comparison.reason)
    return f"{reason[:1].upper()}{reason[1:]}" + ("" if reason.endswith(".") else ".")


def _first_label(comparison: Comparison, shown: Sequence[FindingView]) -> str:
    if comparison.verdict == "inconclusive":
        return "What is missing"
    return "First difference" if shown and shown[0].code.startswith(_DIFFERENCES) else "First finding"


def plain(text: str) -> str:
    """Cut absolute paths down to their last part, so that a report says the same on every machine."""
    return _ABSOLUTE.sub(r"…/\1", text)


def finding_view(found: Finding) -> FindingView:
    """Join a finding with the documentation of its code."""
    code = CODES[found.code]
    where = [f"{found.lane} lane"] if found.lane else []
    where += [f"rank {found.rank}"] if found.rank is not None else []
    where += [f"update {found.update}"] if found.update is not None else []
    return FindingView(
        code=found.code,
        title=code.title,
        message=plain(found.message),
        hard=found.severity is Severity.HARD,
        place=str(found.place) if found.place else "",
        artifact_line=found.artifact_line,
        where=", ".join(where),
        evidence=tuple((name, plain(_text(found.evidence[name]))) for name in sorted(found.evidence)),
        why=code.why,
        remedy=code.remedy,
    )


def _text(value: Any) -> str:
    """A value of the evidence: on one line, or a long list on one line each."""
    match value:
        case str():
            return value
        case Mapping():
            return ", ".join(f"{name}: {_text(value[name])}" for name in sorted(value, key=str))
        case Sequence():
            items = [_text(item) for item in value]
            return (", " if sum(map(len, items)) <= _LINE else "\n").join(items)
        case _:
            return str(value)


def _headline(receipts: Mapping[Lane, Receipt]) -> tuple[tuple[str, str, str], ...]:
    """The numbers that a reader looks for first: each measurement, with the settings that make it a number."""
    measured = [evaluation for lane in LANES if lane in receipts for evaluation in receipts[lane].evaluations]
    if Lane.LOCAL in receipts:
        with contextlib.suppress(ValueError):  # an incomplete block is a finding of the trusted lane
            measured += recipe_evaluations(receipts[Lane.LOCAL])
    headline = []
    by_kit = [evaluation.name for evaluation in measured if evaluation.name.startswith(KIT_EVALUATION)]
    for name in (RECIPE_CHECKPOINT, LOCAL_SETTINGS, PUBLIC_SETTINGS, *by_kit, EVAL_PUBLIC, OFFICIAL_SETTINGS):
        for evaluation in measured:
            if evaluation.name == name:
                note = (
                    f"{evaluation.split}, {evaluation.num_tokens:,} tokens, context {evaluation.seq_len}, "
                    f"world {evaluation.world_size}"
                )
                headline.append((name, f"{float.fromhex(evaluation.val_bpb):.5f}", note))
    return tuple(headline)


def _troubles(receipts: Mapping[Lane, Receipt]) -> tuple[TroubleView, ...]:
    return tuple(
        TroubleView(
            lane=lane.value,
            outcome=receipt.outcome.value,
            problem=plain(receipt.problem or f"exit code {receipt.exit_code}"),
            log=tuple(plain(line) for line in receipt.log_tail[-_LOG_LINES:]),
        )
        for lane in LANES
        if (receipt := receipts.get(lane)) and receipt.outcome is not Outcome.COMPLETE
    )


def _columns(comparison: Comparison, receipts: Mapping[Lane, Receipt]) -> tuple[tuple[str, str], ...]:
    run = Lane.REHEARSAL if Lane.REHEARSAL in receipts and Lane.ARTIFACT not in receipts else Lane.ARTIFACT
    columns = (("local", Lane.LOCAL), ("artifact", run), ("trusted", Lane.TRUSTED))
    return tuple((name, lane.value) for name, lane in columns if any(getattr(row, name) for row in comparison.rows))


def _rows(comparison: Comparison) -> tuple[RowView, ...]:
    return tuple(
        RowView(row.label, plain(row.local), plain(row.artifact), plain(row.trusted), row.agree)
        for row in comparison.rows
    )


def _curves(receipts: Mapping[Lane, Receipt], local: Receipt | None, candidate: Receipt | None) -> Curves:
    series = []
    for lane in LANES:
        receipt = receipts.get(lane)
        if receipt is None or not receipt.ranks:
            continue
        updates = [update for update in receipt.ranks[0].updates if update.losses]
        losses = tuple(sum(map(float.fromhex, u.losses)) / len(u.losses) for u in updates)
        if losses:
            series.append(Series(lane.value, tuple(u.update for u in updates), losses))
    equal: list[int] = []
    different: list[int] = []
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


def _offsets(comparison: Comparison) -> tuple[tuple[OffsetView, ...], tuple[float, float]]:
    """The parts as bars of a waterfall whose axis spans just the values that occur, with a margin."""
    values = [value for offset in comparison.offsets for value in (offset.from_bpb, offset.to_bpb)]
    if not values:
        return (), (0.0, 0.0)
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    low, span = low - 0.06 * span, 1.12 * span
    offsets = tuple(
        OffsetView(
            name=offset.name,
            start=offset.from_bpb,
            end=offset.to_bpb,
            part=offset.part_bpb,
            left=100 * (min(offset.from_bpb, offset.to_bpb) - low) / span,
            width=100 * abs(offset.to_bpb - offset.from_bpb) / span,
        )
        for offset in comparison.offsets
    )
    return offsets, (low, low + span)


def _kernels(artifact: Artifact, local: Receipt | None, candidate: Receipt | None) -> tuple[KernelView, ...]:
    expected: dict[str, dict[str, Any]] = (artifact.manifest or {}).get("kernels", {})
    left, right = _launches(local), _launches(candidate)
    kernels = []
    for kernel in sorted(expected.keys() | left.keys() | right.keys()):
        declared = expected.get(kernel, {})
        per_update = declared.get("launches_per_update")
        counts = (left.get(kernel, _NO_LAUNCHES).counts, right.get(kernel, _NO_LAUNCHES).counts)
        agree = local is None or candidate is None or counts[0] == counts[1]
        if per_update is not None and candidate is not None:
            agree = agree and set(counts[1]) == {per_update}
        seen = right.get(kernel) or left.get(kernel) or _NO_LAUNCHES
        site = artifact.place_of(seen.site) if seen.site else None
        kernels.append(
            KernelView(
                kernel=kernel,
                expected="" if per_update is None else str(per_update),
                local=_span(counts[0]) if local else "",
                artifact=_span(counts[1]) if candidate else "",
                agree=agree,
                shapes=tuple(sorted(seen.shapes)),
                place=str(declared.get("place") or site or ""),
            )
        )
    return tuple(kernels)


@dataclass(frozen=True)
class _Launches:
    counts: tuple[int, ...]  # per rank and update, in that order
    shapes: frozenset[str]
    site: Site | None


_NO_LAUNCHES = _Launches((0,), frozenset(), None)


def _launches(receipt: Receipt | None) -> dict[str, _Launches]:
    """Each kernel's launches in every update of every rank; an update without any counts as 0."""
    if receipt is None:
        return {}
    updates = [update for rank in receipt.ranks for update in rank.updates]
    kernels: dict[str, _Launches] = {}
    for kernel in sorted({launch.kernel for update in updates for launch in update.launches}):
        launches = [[launch for launch in update.launches if launch.kernel == kernel] for update in updates]
        flat = [launch for group in launches for launch in group]
        kernels[kernel] = _Launches(
            counts=tuple(sum(launch.count for launch in group) for group in launches),
            shapes=frozenset(shape for launch in flat for shape in launch.shapes),
            site=next((launch.site for launch in flat if launch.site), None),
        )
    return kernels


def _span(counts: tuple[int, ...]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


def _operators(
    artifact: Artifact, local: Receipt | None, candidate: Receipt | None
) -> tuple[tuple[OperatorView, ...], int]:
    """Operators whose counts differ, the largest change first, and how many were compared."""
    if local is None or candidate is None:
        return (), 0
    left, right = _census(local), _census(candidate)
    differing = []
    for key in sorted(left.keys() | right.keys()):
        here, there = left.get(key), right.get(key)
        counts = (here.count if here else 0, there.count if there else 0)
        if counts[0] != counts[1]:
            place = artifact.place_of((here and here.site) or (there and there.site) or None)
            differing.append(OperatorView(key[0], key[1], counts[0], counts[1], str(place or "")))
    differing.sort(key=lambda row: (-abs(row.artifact - row.local), row.operator, row.signature))
    return tuple(differing), len(left.keys() | right.keys())


def _census(receipt: Receipt) -> dict[tuple[str, str], OperatorCall]:
    """Rank 0's census, by operator and signature."""
    return {(call.operator, call.signature): call for call in (receipt.ranks[0].census if receipt.ranks else [])}


def _times(receipts: Mapping[Lane, Receipt], profile: Profile) -> tuple[TimeView, ...]:
    bars = []
    for lane in LANES:
        receipt = receipts.get(lane)
        if receipt is None:
            continue
        if receipt.time is not None:
            split = receipt.time
            parts = [("start-up", split.start_up), ("train", split.train), ("tail", split.tail)]
        elif receipt.evaluations:
            parts = [(evaluation.name, evaluation.seconds) for evaluation in receipt.evaluations]
        else:
            continue
        updates = receipt.ranks[0].updates if receipt.ranks else []
        bars.append((lane, parts, updates))
    longest = max((sum(seconds for _, seconds in parts) for _, parts, _ in bars), default=0.0) or 1.0
    views = []
    for lane, parts, updates in bars:
        total = sum(seconds for _, seconds in parts)
        steady = sorted(update.seconds for update in updates[profile.budget.startup_updates_excluded :])
        views.append(
            TimeView(
                lane=lane.value,
                parts=tuple((name, seconds, 100 * seconds / (total or 1.0)) for name, seconds in parts),
                total=total,
                width=100 * total / longest,
                updates=len(updates),
                median=steady[len(steady) // 2] if steady else None,
            )
        )
    return tuple(views)


def _environment(local: Receipt | None, candidate: Receipt | None, profile: Profile) -> tuple[EnvironmentView, ...]:
    """Variables that differ between the lanes, and those that the profile says matter; launcher-owned ones left out."""
    left, right = _variables(local), _variables(candidate)
    if not left or not right:
        return ()
    rows = []
    for name in sorted(left.keys() | right.keys()):
        matters = next((what for pattern, what in profile.environment.matters.items() if _matches(name, pattern)), "")
        launcher = any(_matches(name, pattern) for pattern in profile.environment.launcher_owned)
        harness = any(_matches(name, pattern) for pattern in profile.environment.harness_owned)
        here, there = (plain(side[name]) if name in side else "unset" for side in (left, right))
        if not launcher and (here != there or (matters and not harness)):
            rows.append(EnvironmentView(name, here, there, here == there, matters))
    return tuple(sorted(rows, key=lambda row: (row.agree, not row.matters, row.name)))


def _variables(receipt: Receipt | None) -> dict[str, str]:
    return receipt.ranks[0].environment_start if receipt and receipt.ranks else {}


def _matches(name: str, pattern: str) -> bool:
    return name == pattern or (pattern.endswith("*") and name.startswith(pattern[:-1]))


def _knobs(artifact: Artifact, candidate: Receipt | None) -> tuple[KnobView, ...]:
    frozen: dict[str, dict[str, Any]] = (artifact.manifest or {}).get("knobs", {})
    held = candidate.ranks[0].knobs if candidate and candidate.ranks else {}
    knobs = []
    for name in sorted(frozen.keys() | held.keys()):
        value = _text(frozen[name]["value"]) if name in frozen else ""
        other = _text(held[name]) if name in held else ""
        origin = plain(str(frozen[name].get("origin", ""))) if name in frozen else "held by the program at run time"
        knobs.append(KnobView(name, plain(value or other), origin, plain(other) if value and other != value else ""))
    return tuple(knobs)


def _provenance(receipts: Mapping[Lane, Receipt], artifact: Artifact, profile: Profile) -> tuple[tuple[str, str], ...]:
    """What every number in the report is bound to."""
    facts: list[tuple[str, str]] = [("artifact SHA-256", artifact.sha256)]
    if Lane.LOCAL in receipts:
        subject = receipts[Lane.LOCAL].subject
        facts.append((f"{subject.kind} SHA-256", subject.sha256))
    git = (artifact.manifest or {}).get("git") or {}
    if git.get("commit"):
        facts.append(("git commit", f"{git['commit']}{' with changes not committed' if git.get('dirty') else ''}"))
    facts.append(("contest profile", f"{profile.name}, version {profile.version}"))
    for lane in LANES:
        receipt = receipts.get(lane)
        if receipt is None:
            continue
        said = [receipt.outcome.value, f"{receipt.caches} caches", f"network {receipt.network}"]
        unprotected = {name: why for name, why in receipt.protections.items() if why is not None and name != "network"}
        if unprotected:
            why = "; ".join(dict.fromkeys(unprotected.values()))
            said.append(f"room without protection of {', '.join(unprotected)} ({why})")
        if receipt.clock:
            said.insert(1, f"{receipt.clock.kind} clock")
        if receipt.ranks:
            rank = receipt.ranks[0]
            said[1:1] = [f"{len(receipt.ranks)} of {rank.world_size} ranks", f"Python {rank.python}"]
            said.append(f"Neuron {rank.neuron}")
        facts.append((f"{lane.value} lane", ", ".join(said)))
        if receipt.launch:
            facts.append((f"{lane.value} launch", plain(receipt.launch.text)))
    any_receipt = next((receipts[lane] for lane in LANES if lane in receipts), None)
    if any_receipt:
        kit = any_receipt.kit
        facts.append(("kit SHA-256" + (" (stand-in)" if kit.stand_in else ""), kit.prepare_sha256))
        facts += [(f"kit, {name}", kit.data_sha256[name]) for name in sorted(kit.data_sha256)]
        facts.append(("scorer", any_receipt.scorer_version))
        if any_receipt.ranks:
            packages = any_receipt.ranks[0].packages
            facts.append(("packages", ", ".join(f"{name} {packages[name]}" for name in sorted(packages))))
    return tuple(facts)

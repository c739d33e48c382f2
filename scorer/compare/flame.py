"""The profile of one update: what its time went into, call by call, and how far measuring it disturbed it."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field

from scorer.artifact import Artifact
from scorer.compare import verdict
from scorer.compare.accounts import in_time
from scorer.compare.trials.interval import log_ratio
from scorer.compare.verdict import Verdict
from scorer.contest import Profile
from scorer.findings import Finding, Severity
from scorer.room.accounts import RankAccounts
from scorer.room.flames import PHASES, Flame, FlameRow, Frame, Phase, RankFlames
from scorer.room.receipts import Outcome, Rank, Receipt, Site

SCHEMA_VERSION = 1
WARM_UP, PAIRS = 3, 3  # updates before the first one that is timed; then so many plain ones, each beside a profiled one
TOLERANCE = 0.01  # share of an update's time that its parts may miss


class Part(BaseModel):
    """Base of every part of the document: unknown fields are errors."""

    model_config = ConfigDict(extra="forbid")


class PhaseTime(Part):
    """Time of one phase of the update."""

    phase: Phase
    seconds: float
    share: float = Field(description="of the update")


class CallTime(Part):
    """Time of one operator or kernel as one line calls it, or of the program's own Python from the call before up to
    that line.
    """

    phase: Phase
    site: Site | None = Field(description="line of train.py; of a backward operator: whose gradient it computes")
    place: Site | None = Field(description="the same line in the recipe")
    operator: str = Field(description="aten::mm; empty for Python's own time, and for a kernel outside of any operator")
    kernel: str = Field(description="name[cores] signature; empty where none is launched")
    count: int
    seconds: float
    share: float = Field(description="of the update")


class KernelTime(Part):
    """All launches of one kernel with one signature: measured here, and what they are estimated to take on Trn2."""

    kernel: str = Field(description="name[cores]")
    signature: str
    site: Site | None = Field(description="line of the recipe that launches it first")
    launches: int
    seconds: float = Field(description="measured, on the device or the stand-in that ran")
    estimate_seconds: float | None = Field(description="an estimate by documented rates; null where there is none")


class UpdateTime(Part):
    """One update of the run after its warm-up."""

    update: int
    profiled: bool
    seconds: float


class RankTime(Part):
    """The phases of one rank's profiled update."""

    rank: int
    seconds: dict[Phase, float]


class UpdateProfile(Part):
    """The document `profile.json`."""

    schema_version: int = SCHEMA_VERSION
    contest: str
    contest_version: int
    artifact_sha256: str
    launch: str
    verdict: Verdict
    reason: str
    device: str = Field(description="cpu, neuron (stand-in), neuron (sdk), cuda")
    graphs: bool = Field(
        description="whether the program compiles graphs: operators of one stand at the function compiled"
    )
    rank: int | None = Field(description="whose update is told: of several ranks the one that waits least")
    ranks: list[RankTime]
    update: int | None
    seconds: float = Field(description="of the update, by the observer's own count of updates")
    parts_seconds: float = Field(description="of all calls together: within 1 % of `seconds`")
    distortion: float | None = Field(description="a profiled update's time over a plain one's, median of pairs")
    updates: list[UpdateTime]
    phases: list[PhaseTime]
    calls: list[CallTime] = Field(description="the longest first")
    kernels: list[KernelTime] = Field(description="the longest first")
    frames: list[Frame] = Field(description="lines of train.py that `rows` name")
    rows: list[FlameRow] = Field(description="the calls by their whole stacks; their seconds add up to parts_seconds")
    findings: list[Finding]

    def json_text(self) -> str:
        """Sorted, indented JSON that ends with a newline."""
        return json.dumps(self.model_dump(mode="json"), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def profiled_updates() -> tuple[int, ...]:
    """The updates that a profile records; the one before each is plain."""
    return tuple(WARM_UP + 1 + 2 * pair for pair in range(PAIRS))


def conclude(
    artifact: Artifact,
    launch: str,
    profile: Profile,
    receipt: Receipt,
    flames: Sequence[RankFlames],
    accounts: Sequence[RankAccounts],
) -> UpdateProfile:
    """The profile of one run of an artifact over its first updates."""
    told = min(flames, key=_waited, default=None)
    flame = None if told is None else _median(told.flames)
    ranks = {rank.rank: rank for rank in receipt.ranks}
    observed = ranks[told.rank] if told is not None else None
    whole = 0.0 if flame is None or observed is None else _seconds(observed)[flame.update]
    parts = 0.0 if flame is None else sum(row.seconds for row in flame.rows)
    calls = [] if flame is None else _calls(flame, artifact, profile)
    failed = receipt.outcome is not Outcome.COMPLETE
    found = [Finding.model_validate(each) for each in receipt.observed_findings] if failed else []
    findings = verdict.ordered(verdict.weighed(found, profile))
    hard = [each for each in findings if each.severity is Severity.HARD]
    decision: Verdict = "inconclusive"
    if hard:
        decision, reason = "fail", verdict.in_short(hard[0])
    elif flame is None:
        made = max((len(rank.updates) for rank in receipt.ranks), default=0)
        reason = f"The program made {made} updates; the first that is profiled is number {WARM_UP + 2}."
    elif abs(parts - whole) > TOLERANCE * whole:
        reason = f"The parts add up to {_told(parts)}, the update took {_told(whole)}: something was not recorded."
    else:
        decision, reason = "pass", _summary(flame, whole, calls)
    return UpdateProfile(
        contest=profile.name,
        contest_version=profile.version,
        artifact_sha256=artifact.sha256,
        launch=launch,
        verdict=decision,
        reason=reason,
        device=_device(receipt),
        graphs=any(use.what == "graph" for rank in receipt.ranks for use in rank.first_uses),
        rank=None if told is None else told.rank,
        ranks=[] if flame is None else [*_ranks(flames, flame.update)],
        update=None if flame is None else flame.update,
        seconds=whole,
        parts_seconds=parts,
        distortion=None if told is None or observed is None else _distortion(told, _seconds(observed)),
        updates=[] if told is None or observed is None else _updates(told, _seconds(observed)),
        phases=[] if flame is None else _phases(flame),
        calls=calls,
        kernels=[] if told is None else _kernels(calls, [each for each in accounts if each.rank == told.rank]),
        frames=[] if flame is None else flame.frames,
        rows=[] if flame is None else flame.rows,
        findings=findings,
    )


def _seconds(rank: Rank) -> dict[int, float]:
    return {update.update: update.seconds for update in rank.updates}


def _waited(rank: RankFlames) -> float:
    return sum(flame.seconds_in("collectives") for flame in rank.flames)


def _median(flames: Sequence[Flame]) -> Flame:
    """The update whose time is the median."""
    middle = statistics.median_low([flame.seconds for flame in flames])
    return next(flame for flame in flames if flame.seconds == middle)


def _distortion(rank: RankFlames, seconds: Mapping[int, float]) -> float:
    plain = [seconds[flame.update - 1] for flame in rank.flames]
    return math.exp(log_ratio(plain, [seconds[flame.update] for flame in rank.flames]))


def _updates(rank: RankFlames, seconds: Mapping[int, float]) -> list[UpdateTime]:
    profiled = {flame.update for flame in rank.flames}
    shown = range(WARM_UP, max(profiled) + 1)
    return [UpdateTime(update=one, profiled=one in profiled, seconds=seconds[one]) for one in shown]


def _phases(flame: Flame) -> list[PhaseTime]:
    told = [(phase, flame.seconds_in(phase)) for phase in PHASES]
    return [PhaseTime(phase=phase, seconds=seconds, share=seconds / flame.seconds) for phase, seconds in told]


def _ranks(ranks: Sequence[RankFlames], update: int) -> Iterator[RankTime]:
    for rank in ranks:
        for flame in rank.flames:
            if flame.update == update:
                yield RankTime(rank=rank.rank, seconds={phase: flame.seconds_in(phase) for phase in PHASES})


def _calls(flame: Flame, artifact: Artifact, profile: Profile) -> list[CallTime]:
    sums: dict[tuple[Phase, tuple[str, int] | None, str, str], list[float]] = {}
    for row in flame.rows:
        last = flame.frames[row.stack[-1]] if row.stack else None
        key = row.phase, None if last is None else (last.file, last.line), row.operator, row.kernel
        entry = sums.setdefault(key, [0, 0.0])
        entry[0] += row.count
        entry[1] += row.seconds
    calls = []
    for (phase, line, operator, kernel), (count, seconds) in sums.items():
        site = None if line is None else Site(file=line[0], line=line[1])
        place = artifact.place_of(site, profile.launch.script)
        calls.append(
            CallTime(
                phase=phase,
                site=site,
                place=None if place is None else Site(file=place.file, line=place.line),
                operator=operator,
                kernel=kernel,
                count=int(count),
                seconds=seconds,
                share=seconds / flame.seconds,
            )
        )
    return sorted(calls, key=lambda call: (-call.seconds, call.phase, str(call.site), call.operator, call.kernel))


def _kernels(calls: Sequence[CallTime], accounts: Sequence[RankAccounts]) -> list[KernelTime]:
    known = {
        (f"{kernel.kernel}[{kernel.cores}]", kernel.signature): kernel.microseconds / 1e6
        for each in accounts
        for kernel in each.kernels
    }
    grouped: dict[str, list[CallTime]] = {}
    for call in calls:
        if call.kernel:
            grouped.setdefault(call.kernel, []).append(call)
    kernels = []
    for label, group in grouped.items():
        name, _, signature = label.partition(" ")
        launches, each = sum(call.count for call in group), known.get((name, signature))
        kernels.append(
            KernelTime(
                kernel=name,
                signature=signature,
                site=group[0].place,
                launches=launches,
                seconds=sum(call.seconds for call in group),
                estimate_seconds=None if each is None else launches * each,
            )
        )
    return sorted(kernels, key=lambda kernel: (-kernel.seconds, kernel.kernel, kernel.signature))


def _device(receipt: Receipt) -> str:
    devices = sorted({device for rank in receipt.ranks for device in rank.devices})
    which = next((rank.neuron for rank in receipt.ranks if rank.neuron in ("stand-in", "sdk")), None)
    return ", ".join(f"{device} ({which})" if device == "neuron" and which else device for device in devices)


def _summary(flame: Flame, whole: float, calls: Sequence[CallTime]) -> str:
    shares = sorted(_phases(flame), key=lambda each: -each.seconds)
    largest = ", ".join(f"{100 * each.share:.0f} % {each.phase}" for each in shares if each.share >= 0.05)
    longest = next(call for call in calls if call.phase != "recording")
    where = f" at {longest.place.file}:{longest.place.line}" if longest.place else ""
    return (
        f"Update {flame.update} took {_told(whole)}: {largest}. The longest call is {named(longest)}{where}, "
        f"{_told(longest.seconds)}."
    )


def named(call: CallTime) -> str:
    """What a call is, in short: aten::mm, rms_norm_forward[2], Python up to here (from the call before it)."""
    if call.phase == "recording":
        return "the recording itself"
    own = "wait for a collective" if call.phase == "collectives" else "Python up to here"
    return call.kernel.partition(" ")[0] or call.operator or own


def _told(seconds: float) -> str:
    return in_time(1e6 * seconds)

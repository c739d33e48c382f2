"""The kernels of one update: what each launch takes, and what is found about them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from scorer.artifact import Artifact
from scorer.compare import verdict
from scorer.contest import Profile
from scorer.findings import Finding, Place, Severity, define, finding
from scorer.room.accounts import KernelAccount, Limits, RankAccounts
from scorer.room.receipts import Outcome, Receipt, Site

KRN006 = define(
    "KRN006",
    title="A kernel is right in program order only",
    why="The engines of a core run side by side, and the compiler orders instructions between which it sees no "
    "dependency as it likes: on the device the result is another one, or changes from run to run.",
    remedy="Let both instructions use the same tensor, or order them by handle.depends_on(...) or nl.no_reorder().",
)
SCHEMA_VERSION = 1


class Part(BaseModel):
    """Base of every part of the document: unknown fields are errors."""

    model_config = ConfigDict(extra="forbid")


class KernelReport(Part):
    """The document `kernels.json`. Times and cycles are estimates from documented rates, no measurements."""

    schema_version: int = SCHEMA_VERSION
    contest: str
    contest_version: int
    artifact_sha256: str
    launch: str
    verdict: Literal["pass", "fail", "inconclusive"]
    reason: str
    rank: int | None = Field(description="whose kernels are told: of several ranks the one whose take longest")
    ranks: int
    launches: int = Field(description="in one update of the rank")
    microseconds: float = Field(description="estimated, of all of them, each at best")
    limits: Limits | None
    kernels: list[KernelAccount] = Field(description="the one that takes longest in the update first")
    findings: list[Finding] = Field(description="the most telling first")

    def json_text(self) -> str:
        """Sorted, indented JSON that ends with a newline."""
        return json.dumps(self.model_dump(mode="json"), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def conclude(
    artifact: Artifact, launch: str, profile: Profile, receipt: Receipt, accounts: Sequence[RankAccounts]
) -> KernelReport:
    """The report of one run of an artifact up to its first update."""
    told = max(accounts, key=lambda each: each.microseconds, default=None)
    kernels = [] if told is None else [_placed(kernel, artifact, profile) for kernel in told.kernels]
    kernels.sort(key=lambda kernel: (-kernel.launches * kernel.microseconds, kernel.kernel, kernel.signature))
    launches, microseconds = sum(kernel.launches for kernel in kernels), 0.0 if told is None else told.microseconds
    failed = receipt.outcome is not Outcome.COMPLETE
    found = [Finding.model_validate(each) for each in receipt.observed_findings] if failed else []
    found += [_order_finding(kernel, told.rank) for kernel in kernels if told and kernel.order.outcome == "differs"]
    findings = verdict.ordered(verdict.weighed(found, profile))
    hard = [each for each in findings if each.severity is Severity.HARD]
    decision: verdict.Verdict = "pass"
    if hard:
        decision, reason = "fail", verdict.in_short(hard[0])
    elif any(rank.neuron == "sdk" for rank in receipt.ranks):
        decision, reason = "inconclusive", "The kernels ran on the Neuron SDK, which tells nothing of what they take."
    elif not launches:
        decision, reason = "inconclusive", "No kernel was launched in the first update: there is nothing to tell of."
    else:
        names = len({kernel.kernel for kernel in kernels})
        reason = (
            f"{launches} launches of {names} kernel{'' if names == 1 else 's'} in an update, within SBUF and PSUM; by "
            f"the documented rates they take at least {in_time(microseconds)} on Trn2 (an estimate)."
        )
    return KernelReport(
        contest=profile.name,
        contest_version=profile.version,
        artifact_sha256=artifact.sha256,
        launch=launch,
        verdict=decision,
        reason=reason,
        rank=None if told is None else told.rank,
        ranks=len(receipt.ranks),
        launches=launches,
        microseconds=microseconds,
        limits=None if told is None else told.limits,
        kernels=kernels,
        findings=findings,
    )


def _order_finding(kernel: KernelAccount, rank: int) -> Finding:
    """Of two instructions whose exchange changes a result."""
    first, second = ((each.instruction, each.site) for each in kernel.order.exchanged)
    earlier = f"nki.isa.{first[0]}" + (f" ({first[1].file}:{first[1].line})" if first[1] else "")
    over = f": {kernel.order.over}" if kernel.order.over else ""
    return finding(
        KRN006,
        f"{kernel.kernel}[{kernel.cores}]: nki.isa.{second[0]} may run before {earlier}, and then the kernel "
        f"{kernel.order.told}{over}",
        place=Place(file=second[1].file, line=second[1].line) if second[1] else None,
        rank=rank,
        evidence={"arguments": kernel.signature},
    )


def in_time(microseconds: float) -> str:
    """A time with three digits: 12.3 µs, 4.56 ms, 1.23 s."""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{_digits(microseconds / size)} {unit}"
    return f"{_digits(microseconds)} µs"


def _digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _placed(kernel: KernelAccount, artifact: Artifact, profile: Profile) -> KernelAccount:
    """The account with its lines in the recipe."""

    def placed(site: Site | None) -> Site | None:
        place = artifact.place_of(site, profile.launch.script)
        return None if place is None else Site(file=place.file, line=place.line)

    lines = [line.model_copy(update={"site": placed(line.site)}) for line in kernel.lines]
    exchanged = [each.model_copy(update={"site": placed(each.site)}) for each in kernel.order.exchanged]
    order = kernel.order.model_copy(update={"exchanged": exchanged})
    return kernel.model_copy(update={"site": placed(kernel.site), "lines": lines, "order": order})

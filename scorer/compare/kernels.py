"""Kernels: which ran, how often, in every update of every rank, against the manifest and between the lanes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scorer.compare.calls import parting
from scorer.compare.case import Case, paired, stated_place
from scorer.compare.operators import instead
from scorer.findings import Finding, Place, Severity, define, finding
from scorer.room.receipts import KernelLaunch, Receipt, Update

KRN001 = define(
    "KRN001",
    title="A required kernel never ran",
    why="The operation was done by something else: the answers may be right and the speed is lost.",
    remedy="Look at what decides between the kernel and its replacement at the place named; leave one of them.",
)
KRN002 = define(
    "KRN002",
    title="A kernel does not run as often as the artifact's own plan says",
    why="Some layer or shape takes another path without a word.",
    remedy="Look for a condition around the kernel's call: on shape, dtype, layer or an exception.",
)
KRN003 = define(
    "KRN003",
    title="Kernel launches differ between the local run and the artifact's",
    why="The two programs do not run the same kernels on the same shapes.",
    remedy="Look at what the builder kept of the operation, and at the flags that choose it.",
)
KRN004 = define(
    "KRN004",
    title="A kernel runs that the manifest does not list",
    why="Its launches are then checked against nothing.",
    remedy="Add the kernel and its launches per update to the build settings.",
    severity=Severity.ADVICE,
)
KRN005 = define(
    "KRN005",
    title="A kernel of the training's forward does not run when the model is scored",
    why="The model that is scored computes something in another way than the one that was trained: with other "
    "rounding, or with other code.",
    remedy="Let the scoring hook build the very modules that training uses; a kernel of the loss alone may be missing.",
    severity=Severity.ADVICE,
)
SHOWN = 3  # operators that ran instead
_INTEGERS = ("int32", "int64", "uint32")


def compare(case: Case) -> list[Finding]:
    """Findings about launches, the plainest statement of each kernel's fault alone."""
    findings: dict[str, Finding] = {}
    planned: dict[str, dict[str, Any]] = case.manifest.get("kernels", {})
    for receipt in (case.artifact_lane, case.local):
        if receipt is not None:
            for kernel, found in _against_plan(case, receipt, planned):
                findings.setdefault(kernel, found)
    if case.local is not None and case.artifact_lane is not None:
        for kernel, found in _between(case, case.local, case.artifact_lane):
            findings.setdefault(kernel, found)
    for kernel, found in _not_scored(case):
        findings.setdefault(kernel, found)
    return sorted(findings.values(), key=lambda found: (found.code, found.message))


def _not_scored(case: Case) -> Iterator[tuple[str, Finding]]:
    """Kernels that training launches outside of backward passes and optimizer steps, and scoring does not.

    One that takes numbers beside indices is the loss's: it is given the targets, which a scored model has not got.
    """
    trained, scored = case.artifact_lane, case.trusted
    if trained is None or scored is None or not scored.evaluations:
        return
    launches = [launch for rank in trained.ranks for update in rank.updates for launch in update.launches]
    for launch in {launch.kernel: launch for launch in launches if launch.count > launch.aside}.values():
        words = " ".join(launch.shapes)
        of_the_loss = any(f"{kind}[" in words for kind in _INTEGERS) and "float" in words
        if launch.kernel not in scored.scoring_launches and not of_the_loss:
            message = (
                f"{launch.kernel} runs {_times(launch.count - launch.aside)} in the forward of an update, and never "
                f"while the model is scored"
            )
            place = _kernel_place(case, launch.kernel, trained, None, trained, launch)
            yield (
                launch.kernel,
                finding(KRN005, message, place=place, lane="trusted", evidence={"kernel": launch.kernel}),
            )


def _against_plan(case: Case, receipt: Receipt, planned: dict[str, dict[str, Any]]) -> Iterator[tuple[str, Finding]]:
    ranks = [rank for rank in receipt.ranks if rank.updates]
    if not planned or not ranks:
        return
    lane = receipt.lane.value
    for kernel, plan in sorted(planned.items()):
        wanted = plan.get("launches_per_update")
        counts = {(rank.rank, u.update): _count(u, kernel) for rank in ranks for u in rank.updates}
        place = stated_place(plan.get("place"))
        if not any(counts.values()) and wanted != 0:
            message = f"{lane} lane: {kernel} never ran, expected {_times(wanted)} in every update"
            yield (
                kernel,
                finding(KRN001, message, place=place, lane=lane, evidence={"kernel": kernel, "expected": wanted}),
            )
            continue
        planned_counts = {(rank.rank, u.update): planned_launches(plan, u) for rank in ranks for u in rank.updates}
        wrong = [key for key, count in sorted(counts.items()) if planned_counts[key] not in (None, count)]
        if wrong:
            rank, update = wrong[0]
            count, expected = counts[wrong[0]], planned_counts[wrong[0]]
            yield (
                kernel,
                finding(
                    KRN002,
                    f"{lane} lane: {kernel} ran {_times(count)} in update {update} on rank {rank}, the plan says "
                    f"{_times(expected)} ({len(wrong)} of {len(counts)} updates differ)",
                    place=place,
                    lane=lane,
                    rank=rank,
                    update=update,
                    evidence={"kernel": kernel, "expected": expected, "found": count},
                ),
            )
    known = set(planned)
    for kernel in sorted({launch.kernel for rank in ranks for u in rank.updates for launch in u.launches} - known):
        site = next(
            launch.site for rank in ranks for u in rank.updates for launch in u.launches if launch.kernel == kernel
        )
        message = f"{lane} lane: {kernel} runs, and the manifest does not list it"
        yield kernel, finding(KRN004, message, place=case.place(receipt, site), lane=lane, evidence={"kernel": kernel})


def planned_launches(plan: dict[str, Any], update: Update) -> int | None:
    """How often an update is to launch a kernel, by the manifest; None where that says nothing.

    Where updates differ in the number of their backward passes, by that number: none in an update of another.
    """
    by_passes: dict[str, int] | None = plan.get("launches_by_backward_passes")
    if by_passes is not None:
        return by_passes.get(str(len(update.losses)), 0)
    launches: int | None = plan.get("launches_per_update")
    return launches


def _between(case: Case, local: Receipt, artifact: Receipt) -> Iterator[tuple[str, Finding]]:
    told: set[str] = set()
    for here, there in paired(local, artifact):
        for left, right in zip(here.updates, there.updates, strict=False):
            mine, theirs = _launches(left), _launches(right)
            for kernel in sorted(mine.keys() | theirs.keys()):
                a, b = mine.get(kernel), theirs.get(kernel)
                if kernel in told or _signature(a) == _signature(b):
                    continue
                told.add(kernel)
                others = instead(case, artifact, here, there) if (b.count if b else 0) < (a.count if a else 0) else []
                parted = parting(case, local, artifact, left.update, values=False)
                place = parted.place if parted else None
                ran = f"; instead the artifact runs {'; '.join(others[:SHOWN])}" if others else ""
                yield (
                    kernel,
                    finding(
                        KRN003,
                        f"{kernel} ran {_described(a)} in the local run and {_described(b)} in the artifact's, update "
                        f"{left.update}, rank {there.rank}{ran}",
                        place=place or _kernel_place(case, kernel, local, a, artifact, b),
                        lane=artifact.lane.value,
                        rank=there.rank,
                        update=left.update,
                        evidence={
                            "kernel": kernel,
                            "local": _described(a),
                            "artifact": _described(b),
                            **({"instead": others} if others else {}),
                        },
                    ),
                )


def _kernel_place(
    case: Case, kernel: str, local: Receipt, a: KernelLaunch | None, artifact: Receipt, b: KernelLaunch | None
) -> Place | None:
    stated = stated_place(case.manifest.get("kernels", {}).get(kernel, {}).get("place"))
    there = case.place(artifact, b.site) if b else None
    return stated or there or (case.place(local, a.site) if a else None)


def _launches(update: Update) -> dict[str, KernelLaunch]:
    return {launch.kernel: launch for launch in update.launches}


def _count(update: Update, kernel: str) -> int:
    return sum(launch.count for launch in update.launches if launch.kernel == kernel)


def _signature(launch: KernelLaunch | None) -> tuple[int, tuple[str, ...]]:
    return (launch.count, tuple(launch.shapes)) if launch else (0, ())


def _described(launch: KernelLaunch | None) -> str:
    if launch is None:
        return "0 times"
    return f"{_times(launch.count)} on {'; '.join(launch.shapes[:2])}"


def _times(count: int | None) -> str:
    return "some times" if count is None else "once" if count == 1 else f"{count} times"

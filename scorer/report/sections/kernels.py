"""Kernel launches of both lanes beside what the manifest expects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scorer.compare.case import Case
from scorer.compare.kernels import planned_launches
from scorer.room.receipts import Receipt, Site


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


def kernels(case: Case) -> tuple[KernelView, ...]:
    """Every kernel that is expected or ran."""
    local, candidate = case.local, case.artifact_lane
    expected: dict[str, dict[str, Any]] = case.manifest.get("kernels", {})
    left, right = _launches(local), _launches(candidate)
    shown = []
    for kernel in sorted(expected.keys() | left.keys() | right.keys()):
        declared = expected.get(kernel, {})
        per_update = declared.get("launches_per_update")
        counts = (left.get(kernel, _NO_LAUNCHES).counts, right.get(kernel, _NO_LAUNCHES).counts)
        agree = local is None or candidate is None or counts[0] == counts[1]
        if per_update is not None and candidate is not None:
            updates = [update for rank in candidate.ranks for update in rank.updates]
            planned = tuple(planned_launches(declared, update) for update in updates) or (per_update,)
            agree = agree and (counts[1] == planned if kernel in right else not any(planned))
        by_passes: dict[str, int] = declared.get("launches_by_backward_passes", {"": per_update})
        seen = right.get(kernel) or left.get(kernel) or _NO_LAUNCHES
        site = case.artifact.place_of(seen.site, case.profile.launch.script)
        shown.append(
            KernelView(
                kernel=kernel,
                expected="" if per_update is None else _span(tuple(by_passes.values())),
                local=_span(counts[0]) if local else "",
                artifact=_span(counts[1]) if candidate else "",
                agree=agree,
                shapes=tuple(sorted(seen.shapes)),
                place=str(declared.get("place") or site or ""),
            )
        )
    return tuple(shown)


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

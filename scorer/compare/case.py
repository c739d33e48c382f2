"""The lanes of one comparison, and where their lines are in the recipe."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.findings import Place
from scorer.room.receipts import Lane, Outcome, Rank, Receipt, Site
from scorer.trusted.sources import Source

_PLACE = re.compile(r"(?P<file>[^\s:]+):(?P<line>\d+)$")


@dataclass(frozen=True)
class Case:
    """An artifact with the receipts of its lanes. `artifact_lane` is the artifact lane or a rehearsal."""

    artifact: Artifact
    receipts: Mapping[Lane, Receipt]
    profile: Profile

    @property
    def local(self) -> Receipt | None:
        """The receipt of the recipe's own run."""
        return self.receipts.get(Lane.LOCAL)

    @property
    def artifact_lane(self) -> Receipt | None:
        """The receipt of the artifact's run."""
        return self.receipts.get(Lane.ARTIFACT) or self.receipts.get(Lane.REHEARSAL)

    @property
    def control(self) -> Receipt | None:
        """The receipt of the sensitivity control."""
        return self.receipts.get(Lane.CONTROL)

    @property
    def trusted(self) -> Receipt | None:
        """The receipt of the trusted scoring."""
        return self.receipts.get(Lane.TRUSTED)

    @property
    def manifest(self) -> dict[str, Any]:
        """The builder's manifest; empty for a file that it did not make."""
        return self.artifact.manifest or {}

    @property
    def same_virtual_clock(self) -> bool:
        """Whether recipe and artifact ran by one virtual clock, so that what they do in time is the same."""
        local, artifact = self.local, self.artifact_lane
        if local is None or artifact is None or local.clock is None:
            return False
        return local.clock == artifact.clock and local.clock.kind == "virtual"

    @cached_property
    def source(self) -> Source:
        """The artifact's syntax tree."""
        return Source(self.artifact, self.profile)

    def complete(self, *lanes: Receipt | None) -> bool:
        """Whether all of these lanes ran to their end."""
        return all(lane is not None and lane.outcome is Outcome.COMPLETE for lane in lanes)

    def place(self, receipt: Receipt, site: Site | None) -> Place | None:
        """The recipe place of a site in a lane's receipt. A local lane's lines are the recipe's own."""
        if site is None:
            return None
        if receipt.lane is Lane.LOCAL:
            return Place(file=site.file, line=site.line)
        return self.artifact.place_of(site, self.profile.launch.script)

    def line(self, receipt: Receipt, site: Site | None) -> int | None:
        """The artifact line of a site, where it is one."""
        if receipt.lane is Lane.LOCAL or site is None:
            return None
        return site.line if site.file == self.profile.launch.script else None

    def at_site(self, receipt: Receipt, site: Site | None) -> dict[str, Any]:
        """The fields of a finding that stand for a site in a lane's receipt."""
        return {"place": self.place(receipt, site), "artifact_line": self.line(receipt, site)}

    def at(self, line: int | None) -> dict[str, Any]:
        """The fields of a finding that stand for a line of train.py."""
        if line is None:
            return {}
        return {"place": self.artifact.place(line), "artifact_line": line}


def stated_place(text: object) -> Place | None:
    """The place in a manifest's words: "recipe/kernels/norm.py:12", "command line, over file recipe/small.yaml:3"."""
    match = _PLACE.search(text) if isinstance(text, str) else None
    return Place(file=match["file"], line=int(match["line"])) if match else None


def paired(left: Receipt, right: Receipt) -> Iterator[tuple[Rank, Rank]]:
    """The ranks that both lanes have, by number."""
    others = {rank.rank: rank for rank in right.ranks}
    for rank in sorted(left.ranks, key=lambda rank: rank.rank):
        if rank.rank in others:
            yield rank, others[rank.rank]

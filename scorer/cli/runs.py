"""The runs behind the commands: which lanes, in which order, with which clock, and what is made of their receipts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path

from scorer.artifact import Artifact
from scorer.cli.progress import Progress
from scorer.compare import Comparison, compare
from scorer.contest import Profile
from scorer.review import review
from scorer.room.cleanroom import stop_all
from scorer.room.kit import KitPaths
from scorer.room.lane import LaneSpec, run_lane
from scorer.room.launch import LaunchPlan
from scorer.room.receipts import Clock, Lane, Outcome, Receipt


@dataclass(frozen=True)
class Bench:
    """What every run needs: the contest, its kit, where to keep files, and where to tell of the progress."""

    profile: Profile
    kit: KitPaths
    keep: Path
    progress: Progress

    @property
    def virtual_clock(self) -> Clock:
        """The lockstep clock of the contest."""
        return Clock(kind="virtual", seconds_per_update=self.profile.lockstep.virtual_seconds_per_update)


def parity(
    bench: Bench,
    artifact: Artifact,
    plan: LaunchPlan,
    local_root: Path,
    local_plan: LaunchPlan,
    local_environment: Mapping[str, str],
    caches: str,
) -> tuple[Comparison, dict[Lane, Receipt]]:
    """Recipe, artifact and control side by side, then the trusted score, then the comparison."""
    reviewed = review(artifact, bench.profile)
    receipts = run_lanes(
        bench,
        [
            local_lane(bench, local_root, local_plan, local_environment, caches),
            artifact_lane(bench, artifact, plan, caches),
            control_lane(bench, artifact, plan, caches),
        ],
    )
    receipts |= trusted(bench, artifact, receipts[Lane.ARTIFACT], receipts[Lane.LOCAL])
    return compare(artifact, receipts, reviewed, bench.profile), receipts


def rehearse(bench: Bench, artifact: Artifact, plan: LaunchPlan) -> tuple[Comparison, dict[Lane, Receipt]]:
    """The exact bytes by the exact launch string on the real clock with cold caches, then the trusted score."""
    reviewed = review(artifact, bench.profile)
    spec = LaneSpec(
        lane=Lane.REHEARSAL,
        plan=plan,
        source=artifact,
        clock=Clock(kind="real"),
        environment={},
        perturb=False,
        stop_after_window=False,
        caches="cold",
    )
    receipts = run_lanes(bench, [spec])
    receipts |= trusted(bench, artifact, receipts[Lane.REHEARSAL], None)
    return compare(artifact, receipts, reviewed, bench.profile), receipts


def pair(
    bench: Bench, first: tuple[Artifact, LaunchPlan], second: tuple[Artifact, LaunchPlan], caches: str
) -> tuple[Comparison, dict[Lane, Receipt]]:
    """Two files in lockstep, the first in the local lane's place, with the second one's sensitivity control."""
    artifact, plan = second
    reviewed = review(artifact, bench.profile)
    left = artifact_lane(bench, *first, caches)
    receipts = run_lanes(
        bench,
        [
            replace(left, lane=Lane.LOCAL),
            artifact_lane(bench, artifact, plan, caches),
            control_lane(bench, artifact, plan, caches),
        ],
    )
    return compare(artifact, receipts, reviewed, bench.profile), receipts


def local_lane(bench: Bench, root: Path, plan: LaunchPlan, environment: Mapping[str, str], caches: str) -> LaneSpec:
    """The recipe as its author runs it."""
    return LaneSpec(
        lane=Lane.LOCAL,
        plan=plan,
        source=root,
        clock=bench.virtual_clock,
        environment=dict(environment),
        perturb=False,
        stop_after_window=False,
        caches=caches,
    )


def artifact_lane(bench: Bench, artifact: Artifact, plan: LaunchPlan, caches: str) -> LaneSpec:
    """The artifact's exact bytes by its exact launch string."""
    return LaneSpec(
        lane=Lane.ARTIFACT,
        plan=plan,
        source=artifact,
        clock=bench.virtual_clock,
        environment={},
        perturb=False,
        stop_after_window=False,
        caches=caches,
    )


def control_lane(bench: Bench, artifact: Artifact, plan: LaunchPlan, caches: str) -> LaneSpec:
    """The artifact with one parameter changed on purpose, for the lockstep window only: it must come out different."""
    artifact_spec = artifact_lane(bench, artifact, plan, caches)
    return replace(artifact_spec, lane=Lane.CONTROL, perturb=True, stop_after_window=True)


def run_lanes(bench: Bench, specs: Sequence[LaneSpec]) -> dict[Lane, Receipt]:
    """Run lanes concurrently; each keeps its checkpoint and log under `keep/LANE`. The first error ends all of them.

    Raises KitError when the kit was changed meanwhile.
    """
    with ThreadPoolExecutor(len(specs), thread_name_prefix="lane") as pool:
        futures: dict[Lane, Future[Receipt]] = {
            spec.lane: pool.submit(run_one, bench, spec, bench.keep / spec.lane.value) for spec in specs
        }
        import scorer.trusted.judge  # noqa: F401  (needed next; the ranks are importing torch themselves meanwhile)

        done, running = wait(futures.values(), return_when=FIRST_EXCEPTION)
        if running:  # one lane cannot go on: the others' work would be thrown away
            stop_all()
            for future in done:
                future.result()
    receipts = {lane: future.result() for lane, future in futures.items()}
    bench.kit.check_unchanged()
    return receipts


def run_one(bench: Bench, spec: LaneSpec, keep: Path) -> Receipt:
    """Run one lane, telling of its progress; `keep` receives its checkpoint and log."""
    name = spec.lane.value
    receipt = run_lane(spec, bench.profile, bench.kit, keep, bench.progress.start(name))
    updates = len(receipt.ranks[0].updates) if receipt.ranks else 0
    bench.progress.end(name, f"{receipt.outcome.value}, {updates} updates", receipt.outcome is Outcome.COMPLETE)
    return receipt


def trusted(bench: Bench, artifact: Artifact, run: Receipt, local: Receipt | None) -> dict[Lane, Receipt]:
    """The trusted score of the checkpoint that a run left, or nothing where it left none."""
    if run.checkpoint is None:
        return {}
    checkpoint = bench.keep / run.lane.value / run.checkpoint.path
    return {Lane.TRUSTED: score_checkpoint(bench, artifact, checkpoint, local)}


def score_checkpoint(bench: Bench, artifact: Artifact, checkpoint: Path, local: Receipt | None) -> Receipt:
    """The trusted score of one checkpoint file. Raises KitError when the kit was changed meanwhile."""
    from scorer.trusted.judge import score

    tell = bench.progress.start("trusted", "loading the model in a process of its own")
    receipt = score(artifact, checkpoint, bench.profile, bench.kit, local, tell)
    bench.progress.end("trusted", receipt.outcome.value, receipt.outcome is Outcome.COMPLETE)
    bench.kit.check_unchanged()
    return receipt

"""What observation costs outside the lockstep window: python -m parity_tests.bench_observer [--pairs N] [--steps N].

The recipe trains on the real clock, watched and unwatched in turn, the first of each pair changing sides. Printed is
the ratio of the pairs' median update times: of the time on the wall, which any other load of the machine disturbs, and
of the processor time that rank 0 used, which decides. A kit that notes both at every step boundary does the measuring,
in either case alike.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import tempfile
from dataclasses import replace
from pathlib import Path

from scorer import contest
from scorer.room.cleanroom import guard
from scorer.room.kit import KitPaths, ensure_kit
from scorer.room.lane import LaneSpec, run_lane
from scorer.room.launch import parse_local
from scorer.room.receipts import Clock, Lane, Outcome

ROOT = Path(__file__).parents[1]
FIRST_TIMED_STEP = 5
ALLOWED = 1.03
TIMES = """

def record_step_boundary(step):
    if get_dist_info()[1] == 0:
        with open(os.environ["NEURON_COMPETITION_R1_STEP_LOG"], "a") as log:
            log.write(json.dumps([time.time(), time.process_time()]) + "\\n")
"""


def timing_kit(directory: Path) -> KitPaths:
    """The stand-in kit with another `record_step_boundary`."""
    kit = ensure_kit(contest.load("embedded"))
    (directory / "prepare.py").write_text((kit.directory / "prepare.py").read_text() + TIMES)
    return replace(kit, directory=directory)


def median_update(directory: Path, kit: KitPaths, launch: str, observe: bool) -> tuple[float, float]:
    """Median wall and processor seconds of one update, without the first ones."""
    log = directory / "steps.jsonl"
    log.unlink(missing_ok=True)
    spec = LaneSpec(
        lane=Lane.LOCAL,
        plan=parse_local(launch),
        source=ROOT,
        clock=Clock(kind="real"),
        environment={"NEURON_COMPETITION_R1_STEP_LOG": str(log)},
        observe=observe,
    )
    receipt = run_lane(spec, contest.load("embedded"), kit, directory / "keep")
    if receipt.outcome is not Outcome.COMPLETE:
        raise SystemExit(f"the run failed: {receipt.problem}")
    times = [json.loads(line) for line in log.read_text().splitlines()][FIRST_TIMED_STEP:]
    wall, processor = zip(*times, strict=True)
    return median_difference(wall), median_difference(processor)


def median_difference(times: tuple[float, ...]) -> float:
    """Median of the steps from one time to the next."""
    return statistics.median(after - before for before, after in itertools.pairwise(times))


def main() -> None:
    """Run the pairs and print them; exit 1 when the processor time's ratio is above what is allowed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--ranks", type=int, default=1)
    chosen = parser.parse_args()
    launch = (
        f"NEURON_LOGICAL_NC_CONFIG=2 OMP_NUM_THREADS=1 torchrun --standalone --nproc_per_node={chosen.ranks} -m recipe "
        f"--config embedded --world_size {chosen.ranks} --num_steps {chosen.steps} --eval_tokens 4096"
    )
    ratios: list[tuple[float, float]] = []
    with guard(), tempfile.TemporaryDirectory() as directory:
        kit = timing_kit(Path(directory))
        for pair in range(chosen.pairs):
            seconds = {}
            for observe in (pair % 2 == 0, pair % 2 == 1):
                seconds[observe] = median_update(Path(directory), kit, launch, observe)
            (wall, processor), (plain_wall, plain_processor) = seconds[True], seconds[False]
            ratios.append((wall / plain_wall, processor / plain_processor))
            print(
                f"pair {pair}: wall {wall:.4f} / {plain_wall:.4f} s = {ratios[-1][0]:.4f}, "
                f"processor {processor:.4f} / {plain_processor:.4f} s = {ratios[-1][1]:.4f}",
                flush=True,
            )
    for name, values in zip(("wall", "processor"), zip(*ratios, strict=True), strict=True):
        print(
            f"observation, {name} time of an update: {statistics.median(values):.4f} of the unwatched one "
            f"(pairs from {min(values):.4f} to {max(values):.4f}; at most {ALLOWED} of the processor time is allowed)"
        )
    raise SystemExit(statistics.median(ratio for _, ratio in ratios) > ALLOWED)


if __name__ == "__main__":
    main()

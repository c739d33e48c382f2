"""`python -m parity_tests.speedrun [--minutes M] [--seeds N] [--systems NAME ...] [--other NAME=FILE] [-o DIR]`.

Trains every system for the same time on the same data, in turns, and scores each checkpoint by the trusted scorer. Runs
that are there already are not made again. Exit code 0 only if every run counts and, where the baseline raced against
others, the best of them reaches the target. With `--negative`, changes that were published as failures are tried.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from pathlib import Path

import torch
from rich.console import Console

from parity_tests.speedrun import contest, entries, negative, runs, shown
from parity_tests.speedrun.entries import Entry
from parity_tests.speedrun.page import page
from parity_tests.speedrun.race import Race, concluded, order, run_all
from parity_tests.speedrun.runs import Run
from scorer.artifact import ArtifactError
from scorer.cli.console import standard_output
from scorer.cli.progress import Progress
from scorer.contest import Profile, ProfileError, load
from scorer.files import write_atomic
from scorer.room.cleanroom import RoomError, StoppedError, guard
from scorer.room.kit import KitError, KitPaths, ensure_kit
from scorer.room.launch import LaunchError

FIRST_SEED = 1
CORES = 2


def main() -> int:
    """Build, race, print, write."""
    chosen = _arguments()
    console = standard_output()
    try:
        if chosen.negative:
            return _negative(chosen, console)
        race = _race(chosen, console)
    except (entries.EntryError, LaunchError, ArtifactError, ProfileError, KitError, RoomError) as error:
        print(f"speedrun: {error}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, StoppedError):
        print("speedrun: stopped; the runs that had ended are kept, and the same command goes on", file=sys.stderr)
        return 130
    write_atomic(chosen.out / "race.json", race.model_dump_json(indent=1) + "\n")
    write_atomic(chosen.out / "race.html", page(race))
    shown.show(race, console)
    console.print(f"Page: {chosen.out / 'race.html'}", markup=False, highlight=False, soft_wrap=True)
    return 0 if race.passed else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="nox -s speedrun --", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="training time of each run (default: 5)")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each system (default: 3)")
    parser.add_argument("--systems", nargs="+", metavar="NAME", help="names, or paths of YAML files (default: all)")
    parser.add_argument(
        "--other", action="append", default=[], metavar="NAME=FILE", help="another trainer's train.py, or its launch "
        "string with the path of the file in it and {seed} where the seed goes; may be repeated",
    )  # fmt: skip
    parser.add_argument("--negative", action="store_true", help="try the changes of negative.yaml instead of racing")
    parser.add_argument("--as-configured", action="store_true", help="on the configs' own device, not on a plain CPU")
    parser.add_argument("--contest", default="embedded", help="the contest profile whose budget is changed")
    parser.add_argument("--kit", type=Path, help="directory with the organiser's kit (default: the contest's own)")
    parser.add_argument("--cores", type=int, default=CORES, help=f"cores for a run (default: {CORES})")
    parser.add_argument("-o", "--out", type=Path, default=Path("build/speedrun"), help="where all of it is kept")
    chosen = parser.parse_args()
    if chosen.minutes <= 0 or chosen.seeds < 1 or chosen.cores < 1:
        parser.error("--minutes, --seeds and --cores: expected more than nothing")
    chosen.out = chosen.out.resolve()
    return chosen


def _race(chosen: argparse.Namespace, console: Console) -> Race:
    on_cpu = not chosen.as_configured
    base, seconds = load(chosen.contest), max(1, round(60 * chosen.minutes))
    file = chosen.out / "contest.yaml"
    profile = contest.written(contest.race_profile(base, seconds, "cpu" if on_cpu else None), file)
    kit = ensure_kit(profile, chosen.kit)
    cores = runs.pin_cores(chosen.cores)
    systems = chosen.systems or entries.systems()
    if not systems and not chosen.other:
        raise entries.EntryError(f"{entries.CONFIGS}: no config ends in {entries.ENDING}.yaml; name --systems")
    seeds = range(FIRST_SEED, FIRST_SEED + chosen.seeds)
    made: dict[tuple[str, int], Entry] = {}
    for system, seed in order([*systems, *chosen.other], seeds):
        if system in chosen.other:
            made[system, seed] = entries.other(system, seed, profile)
        else:
            console.print(f"building {system}, seed {seed}", markup=False, highlight=False)
            made[system, seed] = entries.built(system, seed, on_cpu, file, profile, chosen.out / "artifacts")
    names = [made[system, FIRST_SEED].system for system in (*systems, *chosen.other)]
    if len({*names}) < len(names):
        raise entries.EntryError(f"{', '.join(names)}: two of them have one name; give each a name of its own")
    found = _run(list(made.values()), profile, kit, cores, chosen.out)
    ranked, equal = concluded(found)
    return Race(
        contest=profile.name,
        contest_version=profile.version,
        seconds=profile.budget.train_seconds,
        scored_tokens=profile.evaluation.official.max_tokens,
        split=profile.evaluation.official.split,
        facts=_facts(profile, cores, len(seeds), on_cpu),
        equal_steps=equal,
        systems=ranked,
    )


def _negative(chosen: argparse.Namespace, console: Console) -> int:
    """Try what negative.yaml lists, print it and write negative.json."""
    base, seconds = load(chosen.contest), max(1, round(60 * chosen.minutes))
    runs.pin_cores(chosen.cores)
    root = chosen.out / f"negative-{seconds}"

    def make(pair: negative.Pair) -> tuple[Path, Path, Path]:
        file = root / f"contest-{pair.device}.yaml"
        device = "cpu" if pair.device == "cpu" else None
        profile = contest.written(contest.race_profile(base, seconds, device), file)
        seeds = range(FIRST_SEED, FIRST_SEED + chosen.seeds)
        return *negative.sides(pair, seeds, file, profile, root), file

    found = negative.try_all(negative.pairs(), make, root, lambda line: console.print(line, highlight=False))
    write_atomic(root / "negative.json", json.dumps([one.model_dump() for one in found], indent=1) + "\n")
    negative.show(found, console)
    return 0


def _run(raced: list[Entry], profile: Profile, kit: KitPaths, cores: int, out: Path) -> list[Run]:
    with guard(), Progress(Console(stderr=True, emoji=False)) as progress:

        def take(entry: Entry, name: str) -> Run:
            tell = progress.start(name)
            run = runs.take(entry, profile, kit, out, runs.key_of(entry, profile, kit, cores), tell)
            score = run.problem or f"{run.val_bpb:.4f} bits per byte, {run.steps} updates"
            progress.end(name, score, run.counts)
            return run

        return run_all(raced, lambda entry: runs.kept(out, entry, runs.key_of(entry, profile, kit, cores)), take)


def _facts(profile: Profile, cores: int, seeds: int, on_cpu: bool) -> dict[str, str]:
    plain = "plain CPU: torch's operators in fp32 in the place of every kernel; no product in fp8"
    return {
        "machine": f"{cores} cores of {platform.machine()}, load {os.getloadavg()[0]:.1f} when the race ended",
        "software": f"Python {platform.python_version()}, torch {torch.__version__}",
        "device": plain if on_cpu else f"{profile.machine.device}, as configured",
        "seeds": f"{seeds}, in turns, each round beginning with another system",
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    }


if __name__ == "__main__":
    sys.exit(main())

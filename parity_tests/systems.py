"""`python -m parity_tests.systems [NAME ...] [--skip-parity]`: every system of the recipe, shown to be a submission.

Of each system, by its configuration `NAME`, and `NAME-embedded`, its size for the embedded contest:

1. the submission of contest size is built: its bytes against the limit, and no hard finding of the static review;
2. the same, for two ranks and 2,048 tokens an update, makes one update on the stand-ins in a clean room: it saves its
   checkpoint, and each rank launches the kernels that the manifest states, as often as it states them;
3. the submission of embedded size passes parity.

For the second, the embedded contest is given the other one's vocabulary. Exit code 0 only if all of it is true of
every system.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

from parity_tests.faults.run import environment
from scorer.contest import load
from scorer.contest.reading import CONTESTS

ROOT = Path(__file__).parents[1]
CONFIGS = ROOT / "recipe/configs"
CONTEST = "trainium-frontier-phase1"
SYSTEMS = ("baseline", "wide-shallow", "deep-narrow", "dense-124m", "sparse-moe")
# What the machine here is asked to do of a system of contest size: everything once, on two rows of 1,024 tokens.
ONE_UPDATE = {
    "world_size": 2, "batch_size": 1, "micro_batches": 1, "seq_len": 1024, "num_steps": 1,
    "ngram_sample": 1,  # of a batch of one row that is counted
}  # fmt: skip


@dataclass
class Shown:
    """What was seen of one system, and what is wrong with it."""

    name: str
    size: str = ""
    parameters: str = ""
    update: str = ""
    parity: str = ""
    problems: list[str] = field(default_factory=list)


class CommandError(RuntimeError):
    """A command that should have succeeded; the message is what it said."""


def main() -> int:
    """Show each system, then the table."""
    parser = argparse.ArgumentParser(prog="python -m parity_tests.systems", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*SYSTEMS, []], help="systems; default: all")
    parser.add_argument("--skip-parity", action="store_true", help="leave out what takes two minutes for each")
    arguments = parser.parse_args()
    console = Console(emoji=False)
    shown = []
    with tempfile.TemporaryDirectory(prefix="systems-") as directory:
        contest = contest_sized(Path(directory))
        for name in arguments.names or SYSTEMS:
            began = time.monotonic()
            system = show(name, Path(directory) / name, contest, parity=not arguments.skip_parity)
            shown.append(system)
            mark = "FAIL" if system.problems else "ok  "
            console.print(f"{mark} {name} ({time.monotonic() - began:.0f} s)", highlight=False)
            for problem in system.problems:
                console.print(f"     {problem}", highlight=False, markup=False, soft_wrap=True)
    table = Table("system", "train.py", "parameters", "one update of 2,048 tokens, 2 ranks", "parity, embedded size")
    for system in shown:
        table.add_row(system.name, system.size, system.parameters, system.update, system.parity)
    console.print(table)
    failed = sum(bool(system.problems) for system in shown)
    console.print(f"{len(shown) - failed} of {len(shown)} systems are submissions", highlight=False)
    return 1 if failed else 0


def contest_sized(directory: Path) -> Path:
    """A contest profile like the embedded one, with the vocabulary of the contest."""
    vocabulary = load(CONTEST).kit.vocab_size
    document = yaml.safe_load((CONTESTS / "embedded.yaml").read_text("utf-8"))
    kit = document["kit"]
    specials = len(kit["special_token_ids"])
    kit["vocab_size"] = kit["constants"]["TOKENIZER_VOCAB_SIZE"] = vocabulary
    kit["bos_token_id"] = vocabulary - specials
    kit["special_token_ids"] = list(range(vocabulary - specials, vocabulary))
    document["name"] = "embedded-with-the-contest-s-vocabulary"
    document["budget"]["run_timeout_seconds"] = 3600
    (directory / "contest.yaml").write_text(yaml.safe_dump(document), "utf-8")
    return directory / "contest.yaml"


def show(name: str, out: Path, contest: Path, *, parity: bool) -> Shown:
    """See one system through; a step that fails is a problem, and the next one is taken all the same."""
    shown = Shown(name)
    steps = [
        lambda: whole(shown, out / "whole"),
        lambda: one_update(shown, out / "update", contest),
        *([lambda: embedded(shown, out / "embedded")] if parity else []),
    ]
    for step in steps:
        try:
            step()
        except CommandError as error:
            shown.problems.append(str(error))
    return shown


def whole(shown: Shown, out: Path) -> None:
    """The submission of contest size: built, and reviewed by the contest's rules."""
    run("builder", "produce", "--config", str(CONFIGS / f"{shown.name}.yaml"), "--contest", CONTEST, "-o", str(out))
    manifest = read(out / "manifest.json")
    shown.size = f"{manifest['size_bytes']:,} of {manifest['size_limit_bytes']:,} bytes"
    run("scorer", "check", str(out / "train.py"), "--contest", CONTEST)


def one_update(shown: Shown, out: Path, contest: Path) -> None:
    """One update at the contest's sizes on two ranks."""
    words = [word for knob, value in ONE_UPDATE.items() for word in ("--set", f"{knob}={value}")]
    config = str(CONFIGS / f"{shown.name}.yaml")
    run("builder", "produce", "--config", config, *words, "--contest", str(contest), "-o", str(out / "artifact"))
    lane = ["--artifact", str(out / "artifact"), "--contest", str(contest), "-o", str(out / "lane")]
    run("scorer", "lane", "artifact", *lane)
    receipt = read(out / "lane/receipt.json")
    parameters = sum(math.prod(one["shape"]) for one in receipt["ranks"][0]["parameters"])
    shown.parameters = f"{parameters / 1e6:.1f} M"
    shown.update = f"{receipt['outcome']}, {receipt['time']['total']:.0f} s from launch to exit"
    if all(rank["peak_bytes"] for rank in receipt["ranks"]):
        shown.update += f", {max(rank['peak_bytes'] for rank in receipt['ranks']) / 2**30:.1f} GiB a rank"
    if receipt["outcome"] != "complete" or receipt["checkpoint"] is None:
        raise CommandError(f"one update: {receipt['outcome']}: {receipt['problem']}\n{receipt['log_tail']}")
    stated = {
        kernel: found["launches_per_update"]
        for kernel, found in read(out / "artifact/manifest.json")["kernels"].items()
    }
    for rank in receipt["ranks"]:
        launched: Counter[str] = Counter()
        for launch in rank["updates"][0]["launches"]:
            launched[launch["kernel"]] += launch["count"]
        if dict(launched) != stated:
            raise CommandError(
                f"one update: rank {rank['rank']} launched {dict(launched)}, the manifest states {stated}"
            )
    shown.update += f", {sum(stated.values())} launches of {len(stated)} kernels" if stated else ", no kernels"


def embedded(shown: Shown, out: Path) -> None:
    """Parity at the size of the embedded contest."""
    name = f"{shown.name}-embedded"
    run("builder", "produce", "--config", str(CONFIGS / f"{name}.yaml"), "-o", str(out / "artifact"))
    launch = (out / "artifact/launch-command.txt").read_text("utf-8").split()
    local = " ".join([*launch[: launch.index("train.py")], "-m", "recipe", "--config", name])
    report = ["--artifact", str(out / "artifact"), "--local-root", ".", "--local", local, "-o", str(out / "report")]
    shown.parity = "no verdict"
    said = run("scorer", "parity", *report, allowed=(0, 1, 3))
    verdict = read(out / "report/verdict.json")
    updates = len(read(out / "report/receipts/artifact.json")["ranks"][0]["updates"])
    scores = [offset["to_bpb"] for offset in verdict["offsets"] or []]
    shown.parity = f"{verdict['verdict']}, {updates} updates"
    if scores:
        shown.parity += f", val_bpb {scores[-1]:.4f}"
    if verdict["verdict"] != "pass":
        raise CommandError(f"parity: {verdict['reason']}\n{said[-3000:]}")


def run(module: str, *words: str, allowed: tuple[int, ...] = (0,)) -> str:
    """Run one of the project's commands; what it printed. Raises CommandError on another exit code."""
    ran = subprocess.run(
        [sys.executable, "-m", module, *words], cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
    )
    if ran.returncode not in allowed:
        said = (ran.stdout + ran.stderr)[-3000:]
        raise CommandError(f"{module} {' '.join(words)}: exit code {ran.returncode}\n{said}")
    return ran.stdout + ran.stderr


def read(path: Path) -> Any:
    """A JSON file."""
    return json.loads(path.read_text("utf-8"))


if __name__ == "__main__":
    sys.exit(main())

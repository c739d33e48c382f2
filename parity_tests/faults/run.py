"""Run one fault end to end: copy the recipe, make the change, build, run the lanes, look at the verdict.

A fault folder holds `fault.yaml`:

    row: S2                      # of the list of faults met in practice
    title: one sentence
    config: small                # recipe config that is built and run
    edits:                       # to the recipe copy, before the build; `find` must occur exactly once
      - {file: recipe/model.py, find: "...", replace: "..."}
    files: {recipe/extra.py: "..."}      # files added before the build
    artifact_edits: [...]        # to the built files, after the build: somebody's edits by hand ...
    as_built: true               # ... or a mistake of the builder: the manifest then names the edited bytes
    build: ["--set", "depth=3"]  # words added to `builder produce`
    launch: "..."                # replaces the artifact's launch command
    local: ["--num-steps", "9"]  # words added to the local lane's launch
    local_environment: {NAME: value}     # what the author has exported
    kit_edits: [...]             # to a copy of the stand-in kit, whose data stay as they are
    words: ["--ledger", "file"]  # words added to the judge's command
    judge: clock                 # who must catch it: parity (left out), clock, environment or speed trial, `scorer
                                 # kernels`
    scripts:                     # of the clock trial, by name or of one's own, beside the plan [default: all]
      - slow save
      - {name: a very slow save, start_up_seconds: 12, save_seconds: 9}
    expect:
      code: KRN002               # the first finding, or the builder's refusal; "refused": the scorer does not take it;
                                 # "none": the recipe is unusual, not wrong, and must pass without a finding
      file: recipe/model.py      # the place it must name (left out: the cause lies outside of every file) ...
      line: "text on that line"  # ... and what stands on that line
      says: "text"               # what the message must contain
      advice: true               # it is told and the verdict is a pass: nothing that the submission can mend
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from scorer.contest import load
from scorer.contest.reading import CONTESTS
from scorer.room.kit import ensure_kit

FAULTS = Path(__file__).parent
ROOT = FAULTS.parents[1]
SHORT = {"rounds": [3, 3], "updates": 8}  # of a speed trial: what is slower here is so by far
TIMEOUT = 240  # seconds for a build or a parity run; a hang is a failure of the harness


class Edit(BaseModel):
    """A text replaced in one file; it must stand there exactly once."""

    model_config = ConfigDict(extra="forbid")

    file: str
    find: str
    replace: str

    def apply(self, root: Path) -> None:
        path = root / self.file
        text = path.read_text("utf-8")
        if (count := text.count(self.find)) != 1:
            raise ValueError(
                f"{self.file}: {self.find!r} stands there {count} times, expected once: mend the fault folder"
            )
        path.write_text(text.replace(self.find, self.replace), "utf-8")


class Expected(BaseModel):
    """The finding that must come first, and the place that it must name."""

    model_config = ConfigDict(extra="forbid")

    code: str
    file: str | None = None
    line: str | None = None
    says: str = ""
    advice: bool = False


class Fault(BaseModel):
    """One fault folder."""

    model_config = ConfigDict(extra="forbid")

    row: str
    title: str
    config: str = "small"
    edits: list[Edit] = Field(default_factory=list)
    files: dict[str, str] = Field(default_factory=dict)
    artifact_edits: list[Edit] = Field(default_factory=list)
    as_built: bool = False
    build: list[str] = Field(default_factory=list)
    launch: str | None = None
    local: list[str] = Field(default_factory=list)
    local_environment: dict[str, str] = Field(default_factory=dict)
    kit_edits: list[Edit] = Field(default_factory=list)
    words: list[str] = Field(default_factory=list)
    judge: Literal["parity", "clock", "environment", "speed", "kernels"] = "parity"
    scripts: list[str | dict[str, Any]] = Field(default_factory=list)
    expect: Expected

    @classmethod
    def read(cls, folder: Path) -> Fault:
        return cls.model_validate(yaml.safe_load((folder / "fault.yaml").read_text("utf-8")))


@dataclass(frozen=True)
class Result:
    """What came of one fault."""

    caught: bool  # the expected finding came first
    placed: bool  # and named the expected place
    said: str
    seconds: float

    @property
    def mark(self) -> str:
        return "ok  " if self.caught and self.placed else "FAIL"


def environment() -> dict[str, str]:
    """The least that a child needs; the caches are the user's own, so that the kit is built once."""
    kept = {name: os.environ[name] for name in ("HOME", "TMPDIR", "SUBMISSION_PARITY_CACHE") if name in os.environ}
    return {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT), **kept}


def run(root: Path, *words: str, **extra: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=root,
        env={**environment(), **extra},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )


def judged(root: Path, fault: Fault, **extra: str) -> dict[str, Any]:
    """Build in `root` and have the fault's judge look at it. A refusal, of the builder or of the scorer, becomes a
    verdict with one finding.
    """
    refused = build(root, fault, **extra)
    if refused is not None:
        return refused
    if fault.judge == "parity":
        return parity(root, fault, **extra)
    if fault.judge == "kernels":
        ran = run(
            root, "-m", "scorer", "kernels", "artifact", "--contest", "embedded", *fault.words, "-o", "report", **extra
        )
        return in_words(read_verdict(root / "report/kernels.json", ran))
    return trial(root, fault, **extra)


def build(root: Path, fault: Fault, **extra: str) -> dict[str, Any] | None:
    """Build `root`/artifact; the verdict of a builder that refuses, or that fails."""
    config = f"recipe/configs/{fault.config}.yaml"
    built = run(root, "-m", "builder", "produce", "--config", config, *fault.build, "-o", "artifact", **extra)
    if built.returncode == 2:
        refusal = re.search(
            r"^(?P<file>\S+?):(?P<line>\d+): (?P<code>BLD\d+) (?P<message>.*)$", built.stderr, re.MULTILINE
        )
        if refusal is None:
            return {"verdict": "error", "findings": [], "reason": built.stderr[-2000:]}
        place = f"{refusal['file']}:{refusal['line']}"
        return {
            "verdict": "fail",
            "findings": [{"code": refusal["code"], "message": refusal["message"], "place": place}],
        }
    if built.returncode != 0:
        return {"verdict": "error", "findings": [], "reason": (built.stdout + built.stderr)[-2000:]}
    for edit in fault.artifact_edits:
        edit.apply(root / "artifact")
    if fault.as_built:
        own_up(root / "artifact")
    if fault.launch is not None:
        (root / "artifact/launch-command.txt").write_text(fault.launch + "\n", "utf-8")
    return None


def parity(root: Path, fault: Fault, **extra: str) -> dict[str, Any]:
    """The parity run's verdict."""
    author = [word for name, value in fault.local_environment.items() for word in ("--local-env", f"{name}={value}")]
    kit: list[str] = []
    if fault.kit_edits:
        kit, extra = ["--kit", "kit"], {**extra, **other_kit(root, fault.kit_edits)}
    ran = run(
        root, "-m", "scorer", "parity", "--contest", "embedded", "--artifact", "artifact", "--local-root", ".",
        "--local", local_launch(root, fault), *author, *kit, *fault.words, "-o", "report", **extra,
    )  # fmt: skip
    return read_verdict(root / "report/verdict.json", ran)


def local_launch(root: Path, fault: Fault) -> str:
    """The recipe's own launch, as the artifact's."""
    launch = (root / "artifact/launch-command.txt").read_text("utf-8").split()
    script = next((i for i, word in enumerate(launch) if word.endswith(".py")), len(launch))
    return " ".join([*launch[:script], "-m", "recipe", "--config", fault.config, *fault.local])


def trial(root: Path, fault: Fault, **extra: str) -> dict[str, Any]:
    """The verdict of a trial, in the form of the parity run's."""
    document = yaml.safe_load((CONTESTS / "embedded.yaml").read_text("utf-8"))
    plan, *others = document["clock_trial"]["scripts"]
    known = {script["name"]: script for script in others}
    if fault.scripts:
        chosen = [known[script] if isinstance(script, str) else script for script in fault.scripts]
        document["clock_trial"]["scripts"] = [plan, *chosen]
    document["speed_trial"] |= SHORT
    (root / "contest.yaml").write_text(yaml.safe_dump(document), "utf-8")
    local = ["--local", local_launch(root, fault)] if fault.judge == "speed" else []
    ran = run(
        root, "-m", "scorer", f"{fault.judge}-trial", "artifact", "--contest", "contest.yaml", *local, *fault.words,
        "-o", "report", **extra,
    )  # fmt: skip
    return in_words(read_verdict(root / "report/trial.json", ran))


def in_words(verdict: dict[str, Any]) -> dict[str, Any]:
    """With places as the parity run's verdict has them."""
    for found in verdict["findings"]:
        if isinstance(found["place"], dict):
            found["place"] = f"{found['place']['file']}:{found['place']['line']}"
    return verdict


def read_verdict(report: Path, ran: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """What the scorer wrote; its refusal or its failure where it wrote nothing."""
    if ran.returncode == 2 and not report.exists():
        return {"verdict": "fail", "findings": [{"code": "refused", "message": ran.stderr.strip(), "place": None}]}
    if not report.is_file():
        return {"verdict": "error", "findings": [], "reason": (ran.stdout + ran.stderr)[-3000:]}
    verdict: dict[str, Any] = json.loads(report.read_text("utf-8"))
    if (ran.returncode == 0) != (verdict["verdict"] == "pass"):
        return {
            "verdict": "error",
            "findings": [],
            "reason": f"exit code {ran.returncode} with verdict {verdict['verdict']}",
        }
    return verdict


def own_up(artifact: Path) -> None:
    """Write the hash of the edited file into the manifest, as a builder would that had made it so."""
    path = artifact / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    manifest["artifact_sha256"] = hashlib.sha256((artifact / "train.py").read_bytes()).hexdigest()
    path.write_text(json.dumps(manifest), "utf-8")


def other_kit(root: Path, edits: list[Edit]) -> dict[str, str]:
    """Make `kit` in `root`, an edited copy of the stand-in over the same data; the variable that names them."""
    profile = load("embedded")
    kit = ensure_kit(profile)
    shutil.copytree(kit.directory, root / "kit", ignore=shutil.ignore_patterns("__pycache__"))
    for edit in edits:
        edit.apply(root / "kit")
    return {profile.kit.cache_variable: str(kit.cache_dir)}


def prepare(root: Path, fault: Fault) -> None:
    shutil.copytree(ROOT / "recipe", root / "recipe", ignore=shutil.ignore_patterns("__pycache__"))
    for edit in fault.edits:
        edit.apply(root)
    for name, text in fault.files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")


def run_fault(fault: Fault) -> Result:
    """Run one fault; caught only if the expected finding is the first hard one."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fault-") as directory:
        root = Path(directory)
        prepare(root, fault)
        try:
            verdict = judged(root, fault)
        except subprocess.TimeoutExpired as late:
            return Result(False, False, f"no end within {late.timeout:g} s", time.monotonic() - began)
        findings = verdict["findings"]
        first = findings[0] if findings else None
        place = first.get("place") if first else None
        if fault.expect.code == "none":
            caught = placed = verdict["verdict"] == "pass" and first is None
        else:
            right = (verdict["verdict"] == "pass") == fault.expect.advice
            caught = right and first is not None and first["code"] == fault.expect.code
            placed = caught and right_place(root, place, fault.expect) and fault.expect.says in str(first)
    if first is None and caught:
        said = "passes without a finding"
    elif first is None:
        said = f"no finding, verdict {verdict['verdict']}: {verdict.get('reason', '')}"
    else:
        where = place or "no place"
        others = sorted({f["code"] for f in findings[1:]})
        said = f"{first['code']} at {where}: {first['message'][:300]}"
        if others:
            said += f" | also {', '.join(others)}"
        if not placed:
            said += f" | expected {fault.expect.code} at {fault.expect.file}: {fault.expect.line}"
    return Result(caught, placed, said, time.monotonic() - began)


def right_place(root: Path, place: str | None, expected: Expected) -> bool:
    """Whether the place has the expected file and text on its line (or no place where none is expected)."""
    if place is None or expected.file is None:
        return place is None and expected.file is None
    file, _, line = place.rpartition(":")
    if file != expected.file:
        return False
    path = next(p for p in (root / expected.file, root / "artifact" / expected.file) if p.is_file())
    lines = path.read_text("utf-8").splitlines()
    return expected.line is None or (0 < int(line) <= len(lines) and expected.line in lines[int(line) - 1])

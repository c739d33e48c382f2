"""What races: artifacts that the builder makes from the recipe's configs, and single-file trainers of others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from scorer.artifact import Artifact
from scorer.contest import LaunchRules, Profile
from scorer.room.launch import LaunchPlan, parse

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "recipe" / "configs"
SETTINGS = ROOT / "recipe" / "build.yaml"
ENDING = "-embedded"
FIRST = "baseline"
SEED = "{seed}"
# On a plain CPU each operation is torch's, and nothing is rounded to what only the chip computes quickly.
ON_CPU = {"nki": "torch", "fused": "torch", "fp8_nki": "torch", "fp8_torch": "torch", "bfloat16": "float32"}


class EntryError(ValueError):
    """A system or another trainer that cannot race; the message says what was expected and what to do."""


@dataclass(frozen=True)
class Entry:
    """One program with one seed: a run of the race."""

    system: str
    seed: int
    artifact: Artifact
    plan: LaunchPlan

    @property
    def name(self) -> str:
        """What its run is called."""
        return f"{self.system}/{self.seed}"


def systems() -> list[str]:
    """Every system that has a config of embedded size, the baseline first."""
    found = sorted(path.stem.removesuffix(ENDING) for path in CONFIGS.glob(f"*{ENDING}.yaml"))
    return sorted(found, key=lambda name: name != FIRST)


def config_of(system: str) -> tuple[str, Path]:
    """A system's name and its config, given by that name or as a path to a YAML file. Raises EntryError."""
    path = Path(system)
    if path.suffix == ".yaml":
        if not path.is_file():
            raise EntryError(f"{path}: no such config; give the path of a YAML file, or one of {', '.join(systems())}")
        return path.stem.removesuffix(ENDING), path
    path = CONFIGS / f"{system}{ENDING}.yaml"
    if not path.is_file():
        raise EntryError(f"{system}: no such system; known ones: {', '.join(systems())}; or a path that ends in .yaml")
    return system, path


def cpu_settings(config: Path) -> dict[str, str]:
    """The knobs by which a config trains on a plain CPU: the device, and torch's operator for every kernel."""
    knobs: Mapping[str, object] = yaml.safe_load(config.read_text("utf-8"))
    plain = {name: ON_CPU[value] for name, value in knobs.items() if isinstance(value, str) and value in ON_CPU}
    return {"device": "cpu", "dtype": "float32", **plain, "loss": "chunked"}  # logits that a core's cache holds


def build(config: Path, settings: Mapping[str, str], contest: Path, profile: Profile, out: Path) -> Artifact:
    """Build a config with some knobs set to other values. Raises EntryError with the builder's own words."""
    words = [sys.executable, "-m", "builder", "produce", "--config", str(config), "--contest", str(contest)]
    words += ["--settings", str(SETTINGS)]  # a config may lie anywhere
    words += [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    done = subprocess.run([*words, "-o", str(out)], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EntryError(f"{config}: cannot be built: {done.stderr.strip() or done.stdout.strip()}")
    return Artifact.load(out).with_others(profile)


def built(system: str, seed: int, on_cpu: bool, contest: Path, profile: Profile, directory: Path) -> Entry:
    """A system's artifact with one seed, made in `directory`."""
    name, config = config_of(system)
    settings = {**(cpu_settings(config) if on_cpu else {}), "seed": str(seed)}
    artifact = build(config, settings, contest, profile, directory / name / str(seed))
    return Entry(name, seed, artifact, parse(artifact.launch_command, profile.launch))


def other(text: str, seed: int, profile: Profile) -> Entry:
    """Another trainer's file, `NAME=FILE` or `NAME=LAUNCH` with the file's path in the place of the contest's script.

    In a launch string, `{seed}` stands for the run's seed. Raises EntryError, LaunchError and ArtifactError.
    """
    name, sign, command = text.partition("=")
    if not sign or not name.replace("-", "_").isidentifier():
        raise EntryError(f"--other {text}: expected NAME=FILE or NAME=LAUNCH; correct it")
    words = command.replace(SEED, str(seed)).split()
    files = [number for number, word in enumerate(words) if word.endswith(".py")]
    if len(files) != 1 or not Path(words[files[0]]).is_file():
        raise EntryError(f"--other {text}: expected the path of one file that ends in .py and exists; correct it")
    file = Path(words[files[0]])
    words[files[0]] = profile.launch.script
    launch = " ".join(words) if len(words) > 1 else default_launch(profile.launch)
    plan = parse(launch, profile.launch)
    return Entry(name, seed, Artifact.from_file(file, launch).with_others(profile), plan)


def default_launch(rules: LaunchRules) -> str:
    """The contest's launch with two ranks, for a file that comes without one."""
    variables = [f"{name}={rules.environment[name][-1]}" for name in rules.required_environment]
    return " ".join([*variables, *rules.launcher, f"{rules.nproc_option}=2", rules.script])

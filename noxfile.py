"""The sessions: the only place where recipe, builder and scorer meet.

`base` installs the dependencies once, into one environment that every other session runs in (isolation is the clean
room's job, not the virtual environment's). Sessions see none of the caller's environment but the few names below.
The project itself is never installed: a clean room must not find the recipe on its path.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2024.10.9"
nox.options.sessions = ["parity"]
nox.options.error_on_missing_interpreters = True
nox.options.reuse_venv = "yes"

ROOT = Path(__file__).parent
PROJECT = nox.project.load_toml("pyproject.toml")
PYTHONS = ("3.11", "3.12", "3.13")
WORLDS = (1, 2, 4, 8)  # numbers of ranks at which a program must make the same updates
STAND_INS = os.pathsep.join(str(ROOT / "scorer" / "standins" / name) for name in ("neuron", "kit"))
# What a session may know of its caller: where to keep caches and temporary files, whether a terminal is there, and
# where a workflow wants its summary.
KEPT = (
    "HOME",
    "TMPDIR",
    "TERM",
    "COLUMNS",
    "NO_COLOR",
    "FORCE_COLOR",
    "SUBMISSION_PARITY_CACHE",
    "CI",
    "GITHUB_STEP_SUMMARY",
)


@nox.session
def base(session: nox.Session) -> None:
    """Install the dependencies into the one environment that all sessions share."""
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    if running not in PYTHONS:
        session.error(f"nox runs on Python {running}; this project needs one of {', '.join(PYTHONS)}: run nox with it")
    wanted = [
        *PROJECT["project"]["dependencies"],
        *nox.project.dependency_groups(PROJECT, "dev"),
    ]
    constraints = ROOT / "constraints.txt"
    fingerprint = hashlib.sha256("\n".join([*wanted, constraints.read_text("utf-8"), sys.version]).encode()).hexdigest()
    stamp = Path(session.virtualenv.location) / "installed.sha256"
    if stamp.is_file() and stamp.read_text("utf-8") == fingerprint:
        session.log("dependencies are installed")
        return
    session.install("--constraint", str(constraints), *wanted)
    stamp.write_text(fingerprint, encoding="utf-8")


def python(session: nox.Session, *command: str, **environment: str) -> None:
    """Run the shared environment's Python in the project root, without the caller's environment."""
    binaries = ROOT / ".nox" / "base" / ("Scripts" if os.name == "nt" else "bin")
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    session.run(
        str(binaries / "python"),
        *command,
        external=True,
        include_outer_env=False,
        env={"PATH": f"{binaries}{os.pathsep}{os.defpath}", "LANG": "C.UTF-8", **kept, **environment},
    )


class Chosen:
    """What `nox -s SESSION -- --config NAME [--contest NAME] [--kit DIR ...]` asks for."""

    def __init__(self, session: nox.Session, own: argparse.ArgumentParser | None = None) -> None:
        """`own`: the session's own options, which it has read itself."""
        parser = argparse.ArgumentParser(
            prog=f"nox -s {session.name} --", parents=[own] if own else [], add_help=not own
        )
        parser.add_argument("--config", default="embedded", help="recipe/configs/NAME.yaml")
        parser.add_argument("--contest", default="embedded", help="contest profile: a name or a YAML file")
        known, self.rest = parser.parse_known_args(session.posargs)
        self.config: str = known.config
        self.contest: str = known.contest
        self.directory = Path("build") / self.config
        self.artifact = str(self.directory / "artifact")

    @property
    def build(self) -> tuple[str, ...]:
        """The builder's command, without where to."""
        config = f"recipe/configs/{self.config}.yaml"
        return "-m", "builder", "produce", "--config", config, "--contest", self.contest

    def local_launch(self) -> str:
        """The artifact's launch with the recipe in the place of the file: same environment, same ranks."""
        launch = (ROOT / self.artifact / "launch-command.txt").read_text("utf-8").strip()
        words = launch.split()
        return " ".join([*words[: words.index("train.py")], "-m", "recipe", "--config", self.config])


def produce(session: nox.Session) -> Chosen:
    """Build what the caller chose."""
    chosen = Chosen(session)
    python(session, *chosen.build, "-o", chosen.artifact)
    return chosen


@nox.session(venv_backend="none", requires=["base"])
def parity(session: nox.Session) -> None:
    """Build the submission; run recipe, artifact and trusted scorer side by side; pass, or say exactly why not."""
    compare(session, produce(session))


def compare(session: nox.Session, chosen: Chosen, *words: str) -> None:
    """Run all lanes over a built artifact."""
    python(
        session, "-m", "scorer", "parity", "--contest", chosen.contest, "--artifact", chosen.artifact,
        "--local-root", ".", "--local", chosen.local_launch(), "-o", str(chosen.directory / "report"),
        *words, *chosen.rest,
    )  # fmt: skip


@nox.session(venv_backend="none", requires=["base"])
def build(session: nox.Session) -> None:
    """Build the submission from the recipe: build/CONFIG/artifact."""
    produce(session)


@nox.session(venv_backend="none", requires=["base"])
def local(session: nox.Session) -> None:
    """Run the local lane alone: the recipe as its author runs it, observed."""
    chosen = produce(session)
    lane(session, chosen, "local", "--local-root", ".", "--local", chosen.local_launch())


@nox.session(venv_backend="none", requires=["base"])
def artifact(session: nox.Session) -> None:
    """Run the artifact lane alone: the built bytes by their launch command in a clean room."""
    chosen = produce(session)
    lane(session, chosen, "artifact", "--artifact", chosen.artifact)


@nox.session(venv_backend="none", requires=["base"])
def trusted(session: nox.Session) -> None:
    """Score the checkpoint that the artifact lane left (build/CONFIG/lanes/artifact), in a process of its own."""
    chosen = produce(session)
    checkpoint = chosen.directory / "lanes" / "artifact" / "out" / "final.pt"
    if not (ROOT / checkpoint).is_file():
        session.error(f"{checkpoint} is not there; run `nox -s artifact -- --config {chosen.config}` first")
    lane(session, chosen, "trusted", "--artifact", chosen.artifact, "--checkpoint", str(checkpoint))


def lane(session: nox.Session, chosen: Chosen, name: str, *words: str) -> None:
    """Run one lane and keep what it leaves."""
    out = str(chosen.directory / "lanes" / name)
    python(session, "-m", "scorer", "lane", name, "--contest", chosen.contest, *words, "-o", out, *chosen.rest)


@nox.session(venv_backend="none", requires=["base"])
def gate(session: nox.Session) -> None:
    """Check what must hold before an upload: cold parity with advice, hostile variables, a rehearsal in real time."""
    chosen = produce(session)
    python(session, *chosen.build, "--check", chosen.artifact)
    compare(session, chosen, "--cold", "--strict")
    trial(session, chosen, "environment")
    launch = (ROOT / chosen.artifact / "launch-command.txt").read_text("utf-8").strip()
    python(
        session, "-m", "scorer", "rehearse", chosen.artifact, "--launch", launch, "--contest", chosen.contest,
        "-o", str(chosen.directory / "rehearsal"), *chosen.rest,
    )  # fmt: skip


def trial(session: nox.Session, chosen: Chosen, name: str, *words: str) -> None:
    """Run a built artifact under other circumstances: the environment, the clock, or beside its recipe."""
    out = str(chosen.directory / f"{name}-trial")
    arguments = (chosen.artifact, "--contest", chosen.contest, "-o", out, *words, *chosen.rest)
    python(session, "-m", "scorer", f"{name}-trial", *arguments)


@nox.session(venv_backend="none", requires=["base"])
def environment(session: nox.Session) -> None:
    """Run the artifact under hostile variables and without any: the same bit for bit, or the variable and its line."""
    trial(session, produce(session), "environment")


@nox.session(venv_backend="none", requires=["base"])
def clock(session: nox.Session) -> None:
    """Replay the whole budget on virtual clocks: long start-ups, slow hosts, a compile, a stall, slow saves."""
    trial(session, produce(session), "clock")


@nox.session(venv_backend="none", requires=["base"])
def kernels(session: nox.Session) -> None:
    """Tell what each kernel launch of an update takes on Trn2, by estimates, and draw SBUF and PSUM over its life."""
    chosen = produce(session)
    out = str(chosen.directory / "kernels")
    python(session, "-m", "scorer", "kernels", chosen.artifact, "--contest", chosen.contest, "-o", out, *chosen.rest)


@nox.session(venv_backend="none", requires=["base"])
def profile(session: nox.Session) -> None:
    """Tell where the time of one update goes, operator by operator and kernel by kernel, with lines; draw the flame."""
    chosen = produce(session)
    out = str(chosen.directory / "profile")
    python(session, "-m", "scorer", "profile", chosen.artifact, "--contest", chosen.contest, "-o", out, *chosen.rest)


@nox.session(venv_backend="none", requires=["base"])
def speed(session: nox.Session) -> None:
    """Race recipe and artifact: the paired ratio of their step times with an interval, and what is slower if one is."""
    chosen = produce(session)
    trial(session, chosen, "speed", "--local-root", ".", "--local", chosen.local_launch())


@nox.session(name="trial", venv_backend="none", requires=["base"])
def change(session: nox.Session) -> None:
    """Try one change (`-- --set knob=value`): old and new program in full, seed by seed; adopt, reject, or why not."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--set", required=True, metavar="KNOB=VALUE", help="the change")
    parser.add_argument("--seeds", type=int, default=3, help="pairs of runs, each with a seed of its own")
    given, _ = parser.parse_known_args(session.posargs)
    chosen = Chosen(session, parser)
    programs = []
    for name, knobs in (("old", []), ("new", [given.set])):
        programs.append(str(chosen.directory / "trial" / name))
        for seed in range(1, given.seeds + 1):
            words = [word for knob in (f"seed={seed}", *knobs) for word in ("--set", knob)]
            python(session, *chosen.build, *words, "-o", str(Path(programs[-1]) / str(seed)))
    out = str(chosen.directory / "trial" / "report")
    python(session, "-m", "scorer", "trial", *programs, "--contest", chosen.contest, "-o", out, *chosen.rest)


@nox.session(venv_backend="none", requires=["base"])
def world(session: nox.Session) -> None:
    """Train at 1, 2, 4 and 8 ranks from the same rows: the same updates within rounding, or the first that is not."""
    chosen = Chosen(session)
    built = []
    for ranks in WORLDS:
        built.append(str(chosen.directory / "world" / str(ranks)))
        python(
            session, *chosen.build, "--set", f"world_size={ranks}", "--set", f"micro_batches={max(WORLDS) // ranks}",
            "-o", built[-1],
        )  # fmt: skip
    out = str(chosen.directory / "world-trial")
    python(session, "-m", "scorer", "world-trial", *built, "--contest", chosen.contest, "-o", out, *chosen.rest)


@nox.session(venv_backend="none", requires=["base"])
def speedrun(session: nox.Session) -> None:
    """Race every system for equal time (5 minutes, three seeds): bits per byte, steps, tokens/s, memory, curves."""
    python(session, "-m", "parity_tests.speedrun", *session.posargs)


@nox.session(venv_backend="none", requires=["base"])
def trainers(session: nox.Session) -> None:
    """Time updates of the recipe beside those of a checkout of nanochat (--nanochat DIR), same shape: at least 1.2."""
    python(session, "-m", "parity_tests.bench_trainers", *session.posargs, PYTHONPATH=STAND_INS)


@nox.session(venv_backend="none", requires=["base"])
def tests(session: nox.Session) -> None:
    """Run the tests that take moments: of every part some, end to end, too."""
    run_tests(session, "not long")


@nox.session(venv_backend="none", requires=["base"])
def long(session: nox.Session) -> None:
    """Run the long tests, which are marked so: whole runs, launches, judgements and builds of much."""
    run_tests(session, "long")


def run_tests(session: nox.Session, marked: str) -> None:
    """Run the tests whose marks fit, a module on one worker: its fixtures are made once."""
    # Each worker has a core of its own: threads of torch's would only wait for each other.
    words = ("-n", "auto", "--dist", "loadscope", "-m", marked, *session.posargs)
    python(session, "-m", "pytest", *words, OMP_NUM_THREADS="1")


@nox.session(venv_backend="none", requires=["base"])
def fuzz(session: nox.Session) -> None:
    """Build and run 2,000 random packages (about five minutes): the same, refused by code, wrong (and made small)."""
    python(session, "-m", "parity_tests.fuzz", *session.posargs)


@nox.session(venv_backend="none", requires=["base"])
def faults(session: nox.Session) -> None:
    """Run every known fault end to end, and twenty clean recipes: caught / total, place right / total."""
    python(session, "-m", "parity_tests.faults", *session.posargs)


@nox.session(venv_backend="none", requires=["base"])
def clean(session: nox.Session) -> None:
    """Run a hundred recipes that nothing is wrong with, on machines that differ: none may raise a finding."""
    python(session, "-m", "parity_tests.faults.clean", *session.posargs)


@nox.session(venv_backend="none", requires=["base"])
def mutants(session: nox.Session) -> None:
    """Change the recipe in one small place, 220 times: killed by a finding, at its place, or equivalent and why."""
    python(session, "-m", "parity_tests.mutants", *session.posargs)


@nox.session(venv_backend="none", requires=["base"])
def exploits(session: nox.Session) -> None:
    """Try every known way to cheat or to break the judge: caught, number right, judge alive, nothing left / total."""
    python(session, "-m", "parity_tests.exploits", *session.posargs)


@nox.session(venv_backend="none", requires=["base"])
def systems(session: nox.Session) -> None:
    """Show that each system is a submission: size, review, one update at contest size, parity at the embedded one."""
    python(session, "-m", "parity_tests.systems", *session.posargs)


@nox.session(venv_backend="none", requires=["base"])
def handkept(session: nox.Session) -> None:
    """Build hand-kept contest files of full size (5,000 lines) under many settings and compare the runs bit for bit."""
    python(session, "-m", "parity_tests.hand_kept.proof", *session.posargs)


@nox.session(requires=["base"])
def bench(session: nox.Session) -> None:
    """Measure builder, review (at most 1 s), observing (1.03), trusted scoring (over 0.9), kernels, device (1.5)."""
    constraints = str(ROOT / "constraints.txt")
    session.install("--constraint", constraints, *nox.project.dependency_groups(PROJECT, "bench"))
    python(session, "-m", "parity_tests.bench_builder", "--tools", session.bin)
    python(session, "-m", "parity_tests.bench_review")
    python(session, "-m", "parity_tests.bench_observer", *session.posargs)
    python(session, "-m", "parity_tests.bench_trusted")
    python(session, "-m", "parity_tests.bench_kernels")
    python(session, "-m", "parity_tests.bench_device", PYTHONPATH=STAND_INS)


@nox.session(venv_backend="none", requires=["base"])
def lint(session: nox.Session) -> None:
    """Check style, format and types."""
    python(session, "-m", "ruff", "check", ".")
    python(session, "-m", "ruff", "format", "--check", ".")
    python(session, "-m", "mypy")

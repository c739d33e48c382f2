"""Contest files as people really keep them: one train.py full of knobs, helpers around them and dead experiments.

    file = write(seed=1, experiments=12, parse="function")
    file.text                        # a training program that runs: 1,500 lines with 12 experiments, 5,000 with 63
    file.launch({"FF_ACT": "swiglu", "--seq-len": "24", "--shuffle": ""})     # the launch string of one run

`text/base.py` is the program; each file under `text/experiments/` is one family of experiments, of which `write` puts
in as many as asked for, under other names, with other numbers, their knobs read in one of the ways that people read
them. The same arguments give the same text.
"""

from __future__ import annotations

import random
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from parity_tests.hand_kept.reading import Knob, flag_lines, knob_lines

TEXT = Path(__file__).parent / "text"
NUMBERS = {
    "DECAY": ("0.9", "0.95", "0.98"),
    "DEPTH": ("6", "9", "12"),
    "DROP": ("0.1", "0.25"),
    "GAP": ("0.003", "0.0012", "0.007"),
    "KEEP": ("16", "32", "100"),
    "LIMIT": ("20.0", "30.0"),
    "MIX": ("0.1", "0.25"),
    "OPEN": ("0.1", "0.5", "-0.5"),
    "PASSES": ("2", "3"),
    "POWER": ("1.0", "2.0", "1.5"),
    "PRIME": ("31", "131", "8191"),
    "RUNS": ("4", "11", "18", "36"),
    "SCALE": ("0.1", "0.2"),
    "SHARE": ("0.25", "0.5"),
    "TOP": ("4", "8"),
}
NOTES = (
    "see the sweep of {day}: {gap} bpb, which is within the noise of two seeds, so neither adopted nor thrown away",
    "{who}, some day: try this without the bias once the queue is free; the last attempt died of a timeout on {day}",
    "{who} says that the order matters here, do not move it up. (Why? See the thread of {day}, nobody knows)",
    "was {number} until {day}; the smaller one is safer on the chip, the larger one looked better on the laptop",
    "not the same as in the paper: they normalise first, we do it last, and that was {gap} bpb in our hands",
    "keep in step with the other file! (it differed for a week, until {day}, and nobody saw it)",
    "seeds 1234, 1235 and 1240 spike without it, {day}; with it 1240 still does, but recovers by itself",
    "no .item() in here, it synchronises the device; measured {number} ms an update on one core, more on eight ranks",
    "HACK: the compiler of {day} cannot fuse it when it is written the other way round, {number} ms an update",
    "this line is worth {gap} bpb by itself, strangely enough; {who} repeated it on two hosts on {day}",
)
LEFTOVERS = (
    "scale = {number} / math.sqrt(max(1, DEPTH))  # {who}'s version, equal within noise",
    "print0('here', step, {number})",
    "x = x * {number} if step < 100 else x",
    "torch.cuda.synchronize(); t0 = time.perf_counter()  # timing, {day}",
    "assert torch.isfinite(x).all(), 'nan since {day}'",
)
FIXED = 0.6  # the share of numbers that are no knobs any more
PEOPLE = ("ana", "bo", "chidi", "dana", "eli")


@dataclass
class HandKept:
    """A generated file and its knobs."""

    text: str
    knobs: list[Knob] = field(default_factory=list)

    def launch(self, settings: dict[str, str], processes: int = 1) -> str:
        """The launch string of one run. Settings: variables by name, flags with their dashes; "" for a bare flag."""
        variables = [f"{name}={shlex.quote(value)}" for name, value in settings.items() if not name.startswith("-")]
        flags = [f"{name} {value}".strip() for name, value in settings.items() if name.startswith("-")]
        launcher = f"torchrun --standalone --nproc_per_node={processes} train.py"
        return " ".join([*variables, "NEURON_LOGICAL_NC_CONFIG=2", launcher, *flags])

    def some_settings(self, seed: int, share: float = 0.4) -> dict[str, str]:
        """A random run: about this share of the experiments' knobs set, each to a value that the program takes."""
        rng = random.Random(seed)
        chosen = [knob for knob in self.knobs if rng.random() < share]
        settings = {knob.name: rng.choice(knob.others) for knob in chosen if knob.group == ""}
        for group in sorted({knob.group for knob in chosen if knob.group}):
            knob = rng.choice([knob for knob in chosen if knob.group == group])
            settings[knob.name] = rng.choice(knob.others)
        return settings


def write(seed: int, experiments: int, parse: str = "function") -> HandKept:
    """Write one file. `parse`: whether the flags are parsed in a "function" or at "module" level."""
    rng = random.Random(seed)
    families = sorted((TEXT / "experiments").glob("*.py"))
    order: list[Path] = []
    while len(order) < experiments:
        order += rng.sample(families, len(families))
    used: dict[Path, int] = {}
    sections: dict[str, list[str]] = {}
    knobs: list[Knob] = []
    optimizers: list[str] = []
    for family in order[:experiments]:
        number = used[family] = used.get(family, -1) + 1
        experiment = _Experiment(family.read_text(encoding="utf-8"), number, rng)
        knobs += experiment.knobs
        optimizers += experiment.choices
        for name, lines in experiment.sections.items():
            sections.setdefault(name, []).extend(lines)
    knobs += [Knob("FF_OPT", "choice", "muon", (name,), group="OPT") for name in optimizers]
    text = _fill((TEXT / "base.py").read_text(encoding="utf-8"), sections)
    return HandKept(_parse_at_module_level(text) if parse == "module" else text, knobs)


class _Experiment:
    """One experiment: the sections of a family's file under a name of its own."""

    def __init__(self, template: str, number: int, rng: random.Random) -> None:
        self.knobs: list[Knob] = []
        self.choices: list[str] = []
        self.sections: dict[str, list[str]] = {}
        names = re.search(r"^#: names (.+)$", template, re.MULTILINE)
        assert names is not None
        words = names[1].split()
        self.name = words[number % len(words)] + (str(number // len(words) + 1) if number >= len(words) else "")
        self.rng = rng
        numbers = {name: rng.choice(values) for name, values in NUMBERS.items()}
        text = re.sub(r"NUM_([A-Z]+)", lambda found: numbers[found[1]], template)
        text = text.replace("XNAME", self.name.upper()).replace("Xname", self.name.capitalize())
        self.read(text.replace("xname", self.name).split("\n"))

    def read(self, lines: list[str]) -> None:
        section = ""
        for line in lines:
            words = line.strip().split()
            if words[:2] == ["#:", "into"]:
                section = " ".join(words[2:])
            elif words[:2] == ["#:", "note"]:
                margin = line[: len(line) - len(line.lstrip())]
                self.add(section, *(f"{margin}# {text}" for text in self.remarks()))
            elif words[:2] == ["#:", "knob"]:
                self.knob(*words[2:])
            elif words[:2] == ["#:", "flag"]:
                self.flag(*words[2:])
            elif words[:2] == ["#:", "choice"]:
                self.choices.append(words[3])
            elif section:
                self.add(section, line)

    def add(self, section: str, *lines: str) -> None:
        self.sections.setdefault(section, []).extend(lines)

    def note(self) -> str:
        """What somebody once wrote there."""
        return self.rng.choice(NOTES).format(**self.words())

    def remarks(self) -> list[str]:
        """Notes of several people, and code that somebody may want back."""
        notes = [self.note() for _ in range(self.rng.randint(2, 3))]
        return notes + [self.rng.choice(LEFTOVERS).format(**self.words())] * self.rng.randint(0, 1)

    def results(self) -> list[str]:
        """Runs that somebody wrote down beside the code."""
        rows = ["  run    host     steps   val_bpb   against the run before, same seed and data order"]
        for _ in range(self.rng.randint(3, 6)):
            run, steps, bpb = self.rng.randint(100, 999), self.rng.randint(3100, 3400), self.rng.randint(8000, 9000)
            host = f"{self.rng.choice('abc')}{self.rng.randint(1, 4)}"
            rows.append(f"  {run}    {host}       {steps}    0.{bpb}    {self.note()[:60]}")
        return rows

    def words(self) -> dict[str, str]:
        """Who, when and how much."""
        return {
            "day": f"{self.rng.randint(1, 30)} Sep",
            "gap": f"{self.rng.choice('+-')}0.000{self.rng.randint(1, 9)}",
            "who": self.rng.choice(PEOPLE),
            "number": f"{self.rng.randint(1, 90) / 10:.1f}",
        }

    def knob(self, name: str, kind: str, *values: str) -> None:
        if "constants" not in self.sections:
            self.add(
                "constants",
                "",
                *(f"# {text}" for text in [f"{self.name}: {self.note()}", *self.remarks(), *self.results()]),
            )
        if kind in ("int", "float") and values[0] != "0.0" and self.rng.random() < FIXED:  # it was a knob once
            self.add("constants", f"{name} = {values[0]}  # {self.note()}")
            return
        knob = Knob(f"FF_{name}", kind, values[0], tuple("|".join(values[1:]).split("|")))
        lines, knob = knob_lines(knob, name, self.rng)
        self.add("constants", *lines)
        self.knobs.append(knob)

    def flag(self, name: str, kind: str, *values: str) -> None:
        others = tuple("|".join(values[1:]).split("|")) if len(values) > 1 else ("",)
        knob = Knob(f"--{name.replace('_', '-')}", kind, values[0] if values else "", others)
        lines, after = flag_lines(knob, name, self.rng)
        self.add("flags", *lines)
        self.add("after parsing", *after)
        self.knobs.append(knob)


def _fill(base: str, sections: dict[str, list[str]]) -> str:
    """Put the experiments' lines where the base says `#: here ...`, indented as it is."""
    lines: list[str] = []
    for line in base.split("\n"):
        place = line.strip().removeprefix("#: here ")
        if place == line.strip():
            lines.append(line)
            continue
        margin = line[: len(line) - len(line.lstrip())]
        inside = sections.pop(place, [])
        if place == "optimizer choice":  # an `elif` of the chain around it
            inside = [text for text in inside if text]
        lines += [margin + text if text else "" for text in inside]
    assert not sections, f"base.py has no place for {sorted(sections)}"
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines))


def _parse_at_module_level(text: str) -> str:
    """The same file by somebody who parses the flags in the middle of the module, and reads `args` everywhere."""
    lines, result = text.split("\n"), []
    start = lines.index("def parse_args(argv=None):")
    end = lines.index("    return args", start)
    result = lines[:start] + [line.removeprefix("    ") for line in lines[start + 1 : end]] + lines[end + 1 :]
    text = "\n".join(result).replace("parser.parse_args(argv)", "parser.parse_args()")
    text = text.replace("    args = parse_args()\n", "")
    return re.sub(r"(?:, |(?<=\())(?<!vars\()args\)", ")", text)

"""No fact of a contest stands in the scorer's code: its names and numbers are found in profiles alone.

What the profiles of real contests hold is looked for in every constant of the scorer's source but docstrings, by syntax
tree. What a profile shares with the world (PyTorch's variables, round numbers, the words of the schema itself) is no
fact of a contest; GENERAL lists it.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from pydantic import BaseModel

from scorer.contest import CONTESTS, Profile, load

SCORER = CONTESTS.parent
SMALLEST = 100  # smaller numbers say nothing by themselves
# What a profile shares with the world is no fact of a contest.
GENERAL = {
    # torch's own: its launcher, what that gives to ranks, its devices and backends
    *("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT", "cpu"),
    *("OMP_NUM_THREADS", "torchrun", "--standalone", "torch", "torch.nn.Module", "bfloat16", "float32", "inductor"),
    # the Neuron SDK's packages, device and settings: the platform that this project has a stand-in for
    *("neuron", "torch_neuronx", "neuronxcc", "neff"),
    *("NEURON_PLATFORM_TARGET_OVERRIDE", "NEURON_RT_STOCHASTIC_ROUNDING_EN", "NEURON_RT_STOCHASTIC_ROUNDING_SEED"),
    *("NKI_DMA_TRANSPOSE_AS_PE_TRANSPOSE", "NKI_PRECISE_FP"),
    # libraries and file formats
    *("numpy", "pyarrow", "ml_dtypes", ".parquet", ".jsonl", ".arrow", ".bin"),
    # words and names of everyday programs
    *("TMPDIR", "XDG_CACHE_HOME", "Tokenizer", "public", "train", "meta", "setup", "step", "checkpoint_path", "device"),
    *("model", "tokenizer", "batch_size", "seq_len", "split", "start", "world_size", "docs", "budget", "seconds"),
    *("minutes", "max_tokens", "cold", "warm", "val_bpb", "out", "print0", "prepend", "official"),
    *("--checkpoint",),
}
# Numbers that mean nothing by themselves: sizes, hours, shares.
ROUND = {128, 300, 1024, 2048, 4096, 8192, 65536, 3600, 0.25, 0.4, 0.5, 0.6, 0.9, 0.01, 0.001, 0.015}
# Files that may hold a fact all the same, and why.
EXEMPT = {
    ("room/launch.py", "--nproc_per_node"),  # torchrun's own option, for an author's launch string
    ("room/supervisor/kernel.py", 262144),  # a flag of Linux
    ("report/chart.py", 0.12),  # inches of a margin
    ("artifact.py", "train.py"),  # what the builder writes
    ("cli/change.py", "train.py"),
    ("compare/flame.py", 0.01),  # share of an update's time
    # Words for the reader: these look for no file of that name.
    *(
        (file, "train.py")
        for file in ("cli/commands.py", "cli/trials.py", "ledger/changes.py", "report/json_report.py")
    ),
    *((file, "train.py") for file in ("report/flame.py", "compare/flame.py", "compare/trials/matching.py")),
    *((file, "train.py") for file in ("room/lane.py", "trusted/checkpoint.py", "trusted/model.py")),
    *((file, "train.py") for file in ("trusted/judge.py", "trusted/purity/surroundings.py")),
}
STANDS_FOR_ITSELF = {"name", "version", "title", "machine.title", "confidence", "clock_trial.scripts.name"}


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every key and value of a profile with the field that it stands in."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield path, key
            yield from leaves(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item, path)
    else:
        yield path, value


def schema_words(model: type[BaseModel] = Profile) -> set[str]:
    """The names of fields, and the words that a field may hold."""
    words: set[str] = set()
    pending: list[Any] = [model]
    while pending:
        one = pending.pop()
        if isinstance(one, type) and issubclass(one, BaseModel):
            for name, field in one.model_fields.items():
                words.add(name)
                pending.append(field.annotation)
        elif isinstance(one, str):
            words.add(one)
        pending.extend(get_args(one))
    return words


def facts() -> dict[str | float, str]:
    """Fact -> the field that holds it."""
    found: dict[str | float, str] = {}
    known = schema_words() | GENERAL
    for path in CONTESTS.glob("*.yaml"):
        profile = load(path)
        if profile.kit.stand_in:
            continue
        for field, value in leaves(profile.model_dump()):
            if field.split(".")[0] in STANDS_FOR_ITSELF or field in STANDS_FOR_ITSELF or isinstance(value, bool):
                continue
            if isinstance(value, str):
                if len(value) > 3 and value not in known and re.search(r"[A-Za-z]{3}", value):
                    found[value] = field
            elif isinstance(value, int | float) and (value >= SMALLEST or value % 1) and value not in ROUND:
                ours = profile.confidence_of(field) == "own"
                found |= {} if ours else {value: field}
    return found


def constants(source: str) -> Iterator[tuple[int, Any]]:
    """Constants of a module with their lines, docstrings left out."""
    tree = ast.parse(source)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in docstrings:
            yield node.lineno, node.value


def found_in(source: str, known: dict[str | float, str]) -> list[tuple[int, str | float, str]]:
    """(line, fact, field) of every fact in a module's constants: a number itself, a name as a word of a text."""
    names = {fact: field for fact, field in known.items() if isinstance(fact, str)}
    pattern = re.compile("|".join(rf"(?<![\w.-]){re.escape(n)}(?![\w-])" for n in sorted(names, key=len, reverse=True)))
    hits: list[tuple[int, str | float, str]] = []
    for line, value in constants(source):
        if isinstance(value, str):
            hits += [(line, match[0], names[match[0]]) for match in pattern.finditer(value)]
        elif isinstance(value, int | float) and not isinstance(value, bool) and value in known:
            hits.append((line, value, known[value]))
    return hits


def sources() -> list[Path]:
    return [p for p in sorted(SCORER.rglob("*.py")) if "standins" not in p.parts]


@pytest.mark.parametrize("path", sources(), ids=lambda p: p.relative_to(SCORER).as_posix())
def test_no_fact_of_a_contest_stands_in_the_code(path: Path) -> None:
    name = path.relative_to(SCORER).as_posix()
    found = [one for one in found_in(path.read_text("utf-8"), FACTS) if (name, one[1]) not in EXEMPT]
    assert not found, "\n".join(
        f"{path}:{line}: {fact!r} belongs to a profile's {field}" for line, fact, field in found
    )


@pytest.mark.parametrize("path", sorted(SCORER.glob("rules/*.yaml")), ids=lambda p: p.stem)
def test_no_rule_looks_for_a_fact_of_a_contest(path: Path) -> None:
    """What a rule tells its reader may name the contest; what it matches may not."""
    rule = yaml.safe_load(path.read_text("utf-8"))
    assert found_in(repr([rule.get("match"), rule.get("where")]), FACTS) == []


@pytest.mark.parametrize(
    ("source", "fact"),
    [
        ("LIMIT = 262144", 262144),
        ("LIMIT = 1 << 3\nif size >= 262_144: pass", 262144),
        ("os.environ['NEURON_COMPETITION_R1_CACHE_DIR']", "NEURON_COMPETITION_R1_CACHE_DIR"),
        ("module.load_for_eval(path)\nprint('load_for_eval fails')", "load_for_eval"),
        ("def f():\n    return 'see prepare.py'", "prepare.py"),
        ("f'{name}: no evaluate_bpb in {kit}'", "evaluate_bpb"),
    ],
)
def test_a_fact_that_comes_back_is_found(source: str, fact: str | float) -> None:
    assert [found for _, found, _ in found_in(source, FACTS)] == [fact]


@pytest.mark.parametrize(
    "source", ['"""load_for_eval and 262144."""', "x = 1024", "'preload_for_evaluation'", "x = 0.5"]
)
def test_documentation_and_what_everybody_says_are_left_alone(source: str) -> None:
    assert found_in(source, FACTS) == []


FACTS = facts()

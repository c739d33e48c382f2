"""The parts import each other only in the directions that the design allows."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OURS = {"recipe", "builder", "scorer", "parity_tests"}
# Inside the scorer one room follows another; each may import itself and those before it.
ROOMS = [
    "files",
    "contest",
    "findings",
    "artifact",
    "rules",
    "review",
    "listing",
    "room",
    "trusted",
    "compare",
    "ledger",
    "report",
    "cli",
    "__main__",
]


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every module a file imports, absolute, wherever the import stands, with its line."""
    package = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1]] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, f"{module}.{alias.name}"


def allowed(path: Path, module: str) -> bool:
    parts = module.split(".")
    where = path.relative_to(ROOT).parts
    if parts[0] not in OURS:
        return True
    if where[:3] == ("scorer", "room", "observer"):
        return parts[:3] == ["scorer", "room", "observer"]  # it runs in the program's process, without the rest of us
    if where[:2] == ("scorer", "standins"):
        return tuple(parts[:4]) == where[:4]  # a stand-in is a package that knows nothing but itself
    if where[0] == "recipe":
        return parts[0] == "recipe"
    if where[0] == "builder":
        return parts[0] == "builder" or parts[:2] == ["scorer", "contest"]
    if where[0] == "scorer":
        if parts[0] != "scorer":
            return False
        here, there = Path(where[1]).stem, parts[1] if len(parts) > 1 else "__init__"
        return there not in ROOMS or ROOMS.index(there) <= ROOMS.index(here)
    return True


def sources() -> list[Path]:
    return sorted(p for part in ("recipe", "builder", "scorer") for p in (ROOT / part).rglob("*.py"))


def test_every_import_goes_in_an_allowed_direction() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in sources()
        for line, module in imports(path)
        if not allowed(path, module)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("file", "module"),
    [
        ("recipe/train.py", "scorer.contest"),
        ("recipe/train.py", "builder.scan"),
        ("builder/scan.py", "recipe.model"),
        ("builder/scan.py", "scorer.room.lane"),
        ("scorer/review.py", "builder.scan"),
        ("scorer/room/lane.py", "scorer.compare.verdict"),
        ("scorer/room/observer/session.py", "scorer.files"),
        ("scorer/standins/kit/prepare.py", "scorer.contest"),
        ("scorer/standins/neuron/torch_neuronx/kernels.py", "scorer.standins.neuron.nki.isa"),
        ("scorer/room/observer/session.py", "scorer.room.receipts"),
    ],
)
def test_the_check_itself_finds_a_forbidden_import(file: str, module: str) -> None:
    assert not allowed(ROOT / file, module)

"""The builder's proof of its own output: an artifact that is not its sources is never written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from builder import produce as phases
from builder.emit import Output
from builder.errors import BuildError
from parity_tests.test_builder_cases import profile_text

CONFIG = """
from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    width: int = 4
    fast: bool = True


def load_config(argv=None):
    return Config()
"""
MODEL = """
LIMIT = 3


def step(x, config: "Config"):
    x = x + config.width
    x = x * 2
    if config.fast:
        return x
    return -x
"""
TRAIN = """
from .config import Config, load_config
from .model import LIMIT, step


def main(config: Config) -> None:
    print(step(LIMIT, config))


if __name__ == "__main__":
    main(load_config())
"""


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    package = tmp_path / "pkg"
    package.mkdir()
    model = "from .config import Config\n" + MODEL
    for name, text in {"__init__": "", "config": CONFIG, "model": model, "train": TRAIN}.items():
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    (tmp_path / "contest.yaml").write_text(profile_text(), encoding="utf-8")
    lines = ["entry: pkg/train.py", "contest: contest.yaml", "launch: torchrun train.py"]
    path = tmp_path / "build.yaml"
    path.write_text("\n".join([*lines, "config: pkg.config:Config", "config_loader: pkg.config:load_config"]))
    return path


def swap(lines: list[str]) -> None:
    i = lines.index("    x = x + 4")
    lines[i], lines[i + 1] = lines[i + 1], lines[i]


def replace(old: str, new: str) -> Callable[[list[str]], None]:
    def change(lines: list[str]) -> None:
        lines[lines.index(old)] = new

    return change


CHANGES = {
    "two statements in another order": (swap, "pkg/model.py:7"),
    "another constant": (replace("    x = x * 2", "    x = x * 3"), "pkg/model.py:8"),
    "another knob value": (replace("    x = x + 4", "    x = x + 5"), "pkg/model.py:7"),
    "a statement less": (replace("    x = x * 2", "    pass"), "pkg/model.py:8"),
    "a statement more": (replace("LIMIT = 3", "LIMIT = 3; print(1)"), "pkg/model.py:3"),
    "another name": (replace("    print(step(LIMIT))", "    print(main(LIMIT))"), "pkg/train.py:7"),
    "code between the parts": (replace("# ==== pkg/train.py ====", "LIMIT = 4"), "pkg/train.py:1"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_changed_output_is_refused(what: str, settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change, place = CHANGES[what]
    emit = phases.emit

    def emit_and_change(*arguments: object) -> Output:
        output = emit(*arguments)  # type: ignore[arg-type]
        change(output.lines)
        return output

    assert b"x = x + 4" in phases.produce(settings).files["train.py"]
    monkeypatch.setattr(phases, "emit", emit_and_change)
    with pytest.raises(BuildError) as refused:
        phases.produce(settings)
    assert f"{place}: BLD045" in str(refused.value)


def test_undefined_name_in_the_output_is_refused(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    emit = phases.emit

    def emit_without_a_part(*arguments: object) -> Output:
        output = emit(*arguments)  # type: ignore[arg-type]
        gone = next(part for part in output.ranges if part.line == 3)
        begin, end = output.ranges.pop(gone)
        output.lines[begin:end] = [""] * (end - begin)
        return output

    monkeypatch.setattr(phases, "emit", emit_without_a_part)
    with pytest.raises(BuildError) as refused:
        phases.produce(settings)
    assert "pkg/train.py:7: BLD042 `LIMIT` is defined nowhere" in str(refused.value)

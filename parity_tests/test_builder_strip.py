"""An artifact without comments is the same program, its map leads to the same lines, and its licences are there."""

from __future__ import annotations

import ast
import io
import json
import tokenize
from pathlib import Path

import pytest

from builder import strip as stripping
from builder.emit import Output
from builder.errors import BuildError
from builder.produce import produce
from parity_tests.test_builder_cli import CONFIG, ROOT, builder

SETTINGS = ROOT / "recipe/build.yaml"


def code_tokens(text: str) -> list[tuple[int, str]]:
    left = (tokenize.COMMENT, tokenize.NL)
    return [(t.type, t.string) for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type not in left]


def test_recipe_without_comments_is_the_same_program() -> None:
    commented, stripped = (produce(SETTINGS, CONFIG, strip_comments=flag).files for flag in (False, True))
    texts = [files["train.py"].decode() for files in (commented, stripped)]
    assert ast.dump(ast.parse(texts[0])) == ast.dump(ast.parse(texts[1]))
    assert code_tokens(texts[0]) == code_tokens(texts[1])
    left = {line.strip()[:7] for line in texts[1].split("\n") if line.strip().startswith("#")}
    assert left == {"# ==== "}
    assert len(texts[1]) < len(texts[0])


def test_map_of_a_stripped_artifact_leads_to_the_same_lines() -> None:
    commented, stripped = (produce(SETTINGS, CONFIG, strip_comments=flag).files for flag in (False, True))

    def places(files: dict[str, bytes]) -> list[tuple[str, object]]:
        document = json.loads(files["train.py.map"])
        lines = files["train.py"].decode().split("\n")
        assert len(document["lines"]) == len(lines) - 1
        return [
            (line.partition("#")[0].rstrip(), (document["sources"][place[0]], place[1]))
            for line, place in zip(lines, document["lines"], strict=False)
            if place and line.partition("#")[0].strip()
        ]

    assert places(commented) == places(stripped)


@pytest.mark.long
def test_summary_says_by_how_much_it_shrank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = []
    for name, flags in (("with", ()), ("without", ("--strip-comments",))):
        assert builder(monkeypatch, "produce", "--config", CONFIG, *flags, "-o", tmp_path / name) == 0
        said = capsys.readouterr().out
        sizes.append((tmp_path / name / "train.py").stat().st_size)
        assert ("comments stripped" in said) == bool(flags)
    assert f"comments stripped: {sizes[0] - sizes[1]:,} bytes less" in said
    assert builder(monkeypatch, "produce", "--config", CONFIG, "--check", tmp_path / "without") == 1
    assert builder(monkeypatch, "produce", "--config", CONFIG, "--strip-comments", "--check", tmp_path / "without") == 0


def test_another_program_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    output = Output()
    for line in ('"""Docs."""', "x = 1 + 2  # one", "y = '#'"):
        output.add(line)
    assert stripping.strip(output).lines == ['"""Docs."""', "x = 1 + 2", "y = '#'"]
    for wrong in (len('"""Docs."""\nx = 1'), len('"""Docs."""\nx = 1 +')):  # another value, no Python
        lexical = type("Lexical", (), {"comments": {wrong: wrong + 1}, "inside": frozenset()})
        monkeypatch.setattr(stripping.Source, "lexical", lexical)
        with pytest.raises(BuildError, match="BLD045"):
            stripping.strip(output)

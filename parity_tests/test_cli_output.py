"""Output directories appear whole or not at all, and never in the place of somebody else's files."""

from __future__ import annotations

from pathlib import Path

import pytest

from scorer.cli.console import standard_output
from scorer.cli.output import OutputDirectory, OutputError


def interrupted(target: Path) -> None:
    with OutputDirectory(target) as directory:
        (directory.staging / "verdict.json").write_text("half")
        raise KeyboardInterrupt


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_nothing_is_there_before_the_commit_and_everything_after(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "out"
    with OutputDirectory(target) as directory:
        (directory.staging / "verdict.json").write_text("{}")
        assert not target.exists()
        directory.commit()
    assert names(target) == ["verdict.json"]
    assert names(target.parent) == ["out"]


def test_a_run_that_is_cut_short_leaves_the_earlier_result_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / "verdict.json").write_text("earlier")
    with pytest.raises(KeyboardInterrupt):
        interrupted(target)
    assert (target / "verdict.json").read_text() == "earlier"
    assert names(tmp_path) == ["out"]


def test_a_second_run_replaces_the_whole_earlier_result(tmp_path: Path) -> None:
    target = tmp_path / "out"
    for name in ("log.txt", "junit.xml"):
        with OutputDirectory(target) as directory:
            (directory.staging / "verdict.json").write_text("{}")
            (directory.staging / name).write_text(name)
            directory.commit()
    assert names(target) == ["junit.xml", "verdict.json"]
    assert names(tmp_path) == ["out"]


def test_a_directory_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "verdict.json").write_text("{}")
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(OutputError, match="no result of this command"):
        OutputDirectory(tmp_path)
    assert names(tmp_path) == ["thesis.tex", "verdict.json"]


def test_a_file_in_the_place_is_refused_and_an_empty_directory_is_not(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    with pytest.raises(OutputError):
        OutputDirectory(tmp_path / "file")
    with OutputDirectory(tmp_path / "empty") as directory:
        (directory.staging / "verdict.json").write_text("{}")
        directory.commit()
    assert names(tmp_path / "empty") == ["verdict.json"]


def test_the_hundredth_line_of_a_file_is_printed_as_a_number() -> None:
    console = standard_output()
    with console.capture() as printed:
        console.print("recipe/model.py:100: says")  # `:100:` is a picture's name where emoji are on
    assert printed.get() == "recipe/model.py:100: says\n"

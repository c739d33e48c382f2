"""The numbers that README and docstrings name are those of the files."""

import re
from pathlib import Path

from parity_tests.exploits.run import EXPLOITS
from scorer import review

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


def test_the_rules_are_counted_as_they_are() -> None:
    patterns = sum(rule.match is not None for rule in review.ALL_RULES)
    every = len(review.ALL_RULES)
    named = re.search(r"(\d+) rules\. .*? (\d+) of them match by .*? the other (\d+) by", README, re.DOTALL)
    assert named is not None
    assert [int(number) for number in named.groups()] == [every, patterns, every - patterns]
    assert f"({patterns} rules); the others ({every - patterns})" in str(review.__doc__)


def test_the_attacks_are_counted_as_they_are() -> None:
    folders = [path for path in EXPLOITS.iterdir() if path.is_dir() and not path.name.startswith("__")]
    assert re.findall(r"(\d+) attacks", README) == [str(len(folders))]

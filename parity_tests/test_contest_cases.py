"""A folder under contest_cases/ is one mistake in a contest profile, and what is said about it.

edits.yaml       changes to the text of the embedded profile: `old`, which stands there once, becomes `new`
profile.yaml     instead of it, a whole file
expected.txt     the message; `[text]` behind the file's name stands for the number of the line that holds the text
"""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import scorer.cli.commands
import scorer.trusted.judge  # noqa: F401  (both: every module that defines codes of findings)
from scorer.contest import CONTESTS, ProfileError, load
from scorer.findings import CODES

CASES = Path(__file__).parent / "contest_cases"
EMBEDDED = (CONTESTS / "embedded.yaml").read_text("utf-8")


def edited(case: Path) -> bytes:
    """The text of a case's profile."""
    whole = case / "profile.yaml"
    if whole.exists():
        return whole.read_bytes()
    text = EMBEDDED
    for edit in yaml.safe_load((case / "edits.yaml").read_text("utf-8")):
        assert text.count(edit["old"]) == 1, (
            f"{case.name}: {edit['old']!r} stands there {text.count(edit['old'])} times"
        )
        text = text.replace(edit["old"], edit["new"])
    return text.encode()


def message(path: Path) -> str:
    """What is said about a profile, each line number replaced by the line."""
    with pytest.raises(ProfileError) as caught:
        load(path, CODES)
    lines = path.read_text("latin-1").split("\n")
    said = str(caught.value).replace(str(path), path.name).replace(f"{CONTESTS}/", "contests/")
    assert all(re.match(r"profile\.yaml:\d+: ", line) for line in said.splitlines()), said
    return re.sub(r"(?m)^profile\.yaml:(\d+)", lambda m: f"{path.name}:[{lines[int(m[1]) - 1].strip()}]", said) + "\n"


@pytest.mark.parametrize("case", sorted(CASES.iterdir()), ids=lambda case: case.name)
def test_a_mistake_is_told_by_line_field_expectation_and_remedy(case: Path, tmp_path: Path) -> None:
    path = tmp_path / "profile.yaml"
    path.write_bytes(edited(case))
    assert message(path) == (case / "expected.txt").read_text("utf-8")


def test_the_embedded_profile_itself_has_no_mistake() -> None:
    assert load("embedded", CODES).name == "embedded"


JUNK = st.one_of(
    st.sampled_from(
        [
            *("", "-1", "0", "1e999", ".inf", "null", "true", "off", "[]", "{}", "[[", "*x", "&x 1", "!!int x", "%"),
            *("!!binary x", "2026-02-31", "0x", "99999999999999999999", "@", "? ", "- -", "<<: {a: 1}", "x: y: z"),
            *("'", '"', "|", "\t", "? [a]\n: b"),
        ]
    ),
    st.text(max_size=12),
)


@given(
    line=st.integers(0, EMBEDDED.count("\n") - 1),
    how=st.sampled_from(["drop", "repeat", "value", "key", "indent", "insert", "cut", "swap"]),
    junk=JUNK,
    other=st.integers(0, EMBEDDED.count("\n") - 1),
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_damage_to_a_profile_ends_in_a_traceback(tmp_path: Path, line: int, how: str, junk: str, other: int) -> None:
    """What is said about a damaged profile has a line on each problem; or the damage did no harm, and it loads."""
    lines = EMBEDDED.split("\n")
    key, colon, _ = lines[line].partition(":")
    if how == "drop":
        del lines[line]
    elif how == "swap":
        lines[line], lines[other] = lines[other], lines[line]
    elif how == "cut":
        del lines[line:]
    else:
        changed = {
            "repeat": [lines[line], lines[line]],
            "value": [f"{key}{colon} {junk}"],
            "key": [f"{key[: len(key) - len(key.lstrip())]}{junk}{lines[line][len(key) :]}"],
            "indent": [f"  {lines[line]}"],
            "insert": [lines[line], junk],
        }
        lines[line : line + 1] = changed[how]
    path = tmp_path / "profile.yaml"
    path.write_text("\n".join(lines), "utf-8", errors="surrogatepass")
    said = ""
    try:
        load(path, CODES)
    except ProfileError as error:
        said = str(error)
    assert all(re.match(rf"{re.escape(str(path))}:[1-9]\d*: .", text) for text in said.splitlines()), said

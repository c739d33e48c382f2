"""Which variables a submission's run is given, and what is said of those that it asks for."""

from pathlib import Path

import pytest

from parity_tests.room_programs import line_of, profile, program, run_artifact
from scorer.contest import Profile
from scorer.findings import Finding
from scorer.room import variables
from scorer.room.receipts import Event, Site
from scorer.room.stand_in import stand_in_variables, stand_ins


def ruled(**policy: str) -> Profile:
    """A contest with these rulings; NAME stands for any other variable."""
    rulings = {"*" if name == "NAME" else name: ruling for name, ruling in policy.items()}
    environment = profile().environment.model_copy(update={"policy": rulings})
    return profile().model_copy(update={"environment": environment})


def event(kind: str, name: str, line: int = 3) -> Event:
    return Event(kind=f"{kind}-environment", detail=name, site=Site(file="train.py", line=line))


@pytest.mark.parametrize(
    ("ruling", "passes", "codes"), [("allow", True, []), ("strip", False, ["RUN017"]), ("refuse", False, ["RUN016"])]
)
def test_a_ruling_decides_what_is_given_and_what_is_said(ruling: str, passes: bool, codes: list[str]) -> None:
    contest = ruled(NAME="refuse", KNOB=ruling)
    assert ("KNOB" in variables.passed({"KNOB": "1", "RANK": "0"}, contest)) == passes
    assert [code for code, _, _ in variables.reads([event("read", "KNOB")], contest)] == codes


def test_the_launchers_and_the_harness_s_own_are_given_and_may_be_read() -> None:
    contest = ruled(NAME="refuse")
    owned = ["RANK", "TORCHELASTIC_RUN_ID", contest.kit.cache_variable]
    assert [*variables.passed(dict.fromkeys(owned, "1"), contest)] == owned
    assert [*variables.reads([event("read", name) for name in owned], contest)] == []


def test_a_name_goes_before_a_pattern_and_a_longer_pattern_before_a_shorter_one() -> None:
    contest = ruled(NAME="refuse", **{"A_*": "strip", "A_B*": "allow", "A_BC": "refuse"})
    names = ["A_X", "A_BX", "A_BC", "B"]
    assert [contest.environment.ruling(name) for name in names] == ["strip", "allow", "refuse", "refuse"]


def test_what_the_program_has_set_itself_it_may_read() -> None:
    contest = ruled(NAME="refuse")
    assert [*variables.reads([event("set", "A"), event("read", "A")], contest)] == []
    assert [code for code, _, _ in variables.reads([event("read", "A"), event("set", "A")], contest)] == ["RUN016"]


def test_one_line_that_reads_many_is_one_finding() -> None:
    events = [event("read", f"V{number}") for number in range(7)] + [event("read", "V0"), event("read", "V0", 4)]
    found = [*variables.reads(events, ruled(NAME="refuse"))]
    assert [(site.line, message.rpartition(": ")[2]) for _, message, site in found if site] == [
        (3, "V0, V1, V2, V3, V4 and 2 more"),
        (4, "V0"),
    ]


@pytest.mark.long
def test_a_run_does_not_see_what_is_stripped_and_its_reads_are_judged(tmp_path: Path) -> None:
    before = "print('flags', os.environ.get('NEURON_CC_FLAGS'), os.getenv('DEPTH'), os.environ['WORLD_SIZE'])"
    source = program(before=before)
    seen = run_artifact(tmp_path, source, environment={"OMP_NUM_THREADS": "1", "NEURON_CC_FLAGS": "-O1", "DEPTH": "3"})
    assert "flags None None 1" in seen.log_tail
    found = [Finding.model_validate(one) for one in seen.observed_findings]
    assert [(one.code, one.artifact_line) for one in found] == [
        ("RUN017", line_of(source, "print('flags'")),
        ("RUN016", line_of(source, "print('flags'")),
    ]
    assert [one.severity.value for one in found] == ["advice", "hard"]
    assert found[1].message == "artifact lane: reads variables that the contest refuses: DEPTH"


def test_the_stand_in_is_told_which_nki_the_contest_s_machine_has(tmp_path: Path) -> None:
    machine = profile().machine.model_copy(update={"versions": {"nki": "0.6.1"}})
    contest = profile().model_copy(update={"machine": machine})
    source = "import os\nprint('told', os.environ.get('NKI_STAND_IN_VERSION'))\n"
    receipt = run_artifact(tmp_path, source, profile=contest)
    assert f"told {'0.6' if stand_ins() else None}" in receipt.log_tail
    assert stand_in_variables(profile()) == {}  # a contest that does not say

"""Launch strings: what the contest's grammar and the author's take, and how they refuse."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.contest import load
from scorer.room.launch import LaunchError, LaunchPlan, parse, parse_local

RULES = load("trainium-frontier-phase1").launch
GOOD = "NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=4 train.py"


def test_the_contest_form_is_read() -> None:
    assert parse(f"  {GOOD} --steps 5 --name=a_b-c.d\n", RULES) == LaunchPlan(
        text=f"{GOOD} --steps 5 --name=a_b-c.d",
        environment={"NEURON_LOGICAL_NC_CONFIG": "2"},
        launcher=["torchrun", "--standalone"],
        nproc_per_node=4,
        program=["train.py", "--steps", "5", "--name=a_b-c.d"],
    )


@pytest.mark.parametrize(
    ("text", "position", "word", "expected"),
    [
        ("", 1, "", "NEURON_LOGICAL_NC_CONFIG={1|2} before the launcher"),
        ("torchrun --standalone --nproc_per_node=4 train.py", 1, "torchrun", "NEURON_LOGICAL_NC_CONFIG={1|2} before"),
        (GOOD.replace("CONFIG=2", "CONFIG=3"), 1, "NEURON_LOGICAL_NC_CONFIG=3", "{1|2}"),
        ("NEURON_CC_FLAGS=-O1 " + GOOD, 1, "NEURON_CC_FLAGS=-O1", "one of the variables NEURON_LOGICAL_NC_CONFIG"),
        ("NEURON_LOGICAL_NC_CONFIG=2 " + GOOD, 2, "NEURON_LOGICAL_NC_CONFIG=2", "once"),
        (GOOD.replace("torchrun", "python"), 2, "python", "'torchrun'"),
        (GOOD.replace("--standalone ", ""), 3, "--nproc_per_node=4", "'--standalone'"),
        (GOOD.replace("node=4", "node=3"), 4, "--nproc_per_node=3", "{1|4|8}"),
        (GOOD.replace("node=4", "node=04"), 4, "--nproc_per_node=04", "{1|4|8}"),
        (GOOD.replace("nproc_per_node", "nproc-per-node"), 4, "--nproc-per-node=4", "--nproc_per_node={1|4|8}"),
        (GOOD.replace("node=4", "node 4"), 4, "--nproc_per_node", "--nproc_per_node={1|4|8}"),
        (GOOD.replace(" train.py", " --nnodes=2 train.py"), 5, "--nnodes=2", "'train.py'"),
        (GOOD.replace("train.py", "./train.py"), 5, "./train.py", "'train.py'"),
        (GOOD.replace("train.py", "-m train"), 5, "-m", "'train.py'"),
        (GOOD.replace(" train.py", ""), 5, "", "'train.py'"),
        (GOOD + " | tee log", 6, "|", "letters, digits"),
        (GOOD + " > log", 6, ">", "letters, digits"),
        (GOOD + ">log", 5, "train.py>log", "letters, digits"),
        (GOOD + " && ls", 6, "&&", "letters, digits"),
        (GOOD + "; ls", 5, "train.py;", "letters, digits"),
        (GOOD + " &", 6, "&", "letters, digits"),
        (GOOD + " $HOME", 6, "$HOME", "letters, digits"),
        (GOOD + " `ls`", 6, "`ls`", "letters, digits"),
        (GOOD + " 'a b'", 6, "'a", "letters, digits"),
        (GOOD + ' "x"', 6, '"x"', "letters, digits"),
        (GOOD + " a\\ b", 6, "a\\", "letters, digits"),
        (GOOD + " *.py", 6, "*.py", "letters, digits"),
        (GOOD + " ~", 6, "~", "letters, digits"),
        (GOOD + " #x", 6, "#x", "letters, digits"),
        (GOOD + " (x)", 6, "(x)", "letters, digits"),
        (GOOD + "\nls", 6, "ls", "one line"),
    ],
)
def test_anything_else_is_refused_at_its_word(text: str, position: int, word: str, expected: str) -> None:
    with pytest.raises(LaunchError) as caught:
        parse(text, RULES)
    assert (caught.value.position, caught.value.word) == (position, word)
    assert expected in caught.value.expected
    assert caught.value.remedy in str(caught.value)


def test_flags_are_refused_where_the_contest_has_none() -> None:
    without = RULES.model_copy(update={"flags": False})
    assert parse(GOOD, without).program == ["train.py"]
    with pytest.raises(LaunchError, match=re.escape("word 6, '--fast': expected the end")):
        parse(GOOD + " --fast", without)


def test_an_author_may_start_a_module_and_quote_values() -> None:
    plan = parse_local("A='x  y' B=\"|\" torchrun --nproc-per-node 2 --standalone -m recipe --config 'my config'")
    assert plan.environment == {"A": "x  y", "B": "|"}
    assert (plan.launcher, plan.nproc_per_node) == (["torchrun", "--standalone"], 2)
    assert plan.program == ["-m", "recipe", "--config", "my config"]


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("", "", "'torchrun' or NAME=VALUE"),
        ("python train.py", "python", "'torchrun' or NAME=VALUE"),
        ("torchrun train.py", "train.py", "--nproc_per_node=N"),
        ("torchrun --nproc_per_node=two train.py", "--nproc_per_node=two", "1 or more"),
        ("torchrun --nproc_per_node=0 train.py", "--nproc_per_node=0", "1 or more"),
        ("torchrun --nproc_per_node", "", "1 or more"),
        ("torchrun --nproc_per_node=2 --rdzv_backend=c10d train.py", "--rdzv_backend=c10d", "--standalone or"),
        ("torchrun --nproc_per_node=2", "", "a file or -m MODULE"),
        ("torchrun --nproc_per_node=2 -m", "", "a file or -m MODULE"),
        ("torchrun --nproc_per_node=2 -c pass", "-c", "a file or -m MODULE"),
        ("A=1 A=2 torchrun --nproc_per_node=2 a.py", "A=2", "A once"),
        ("torchrun --nproc_per_node=2 a.py && ls", "&&", "a plain word"),
        ("torchrun --nproc_per_node=2 a.py; ls", ";", "a plain word"),
        ("torchrun --nproc_per_node=2 a.py > log", ">", "a plain word"),
        ("A=$HOME torchrun --nproc_per_node=2 a.py", "A=$HOME", "without $"),
        ("A='x torchrun --nproc_per_node=2 a.py", "A='x torchrun --nproc_per_node=2 a.py", "matching quotes"),
    ],
)
def test_an_author_is_told_the_word_at_fault(text: str, word: str, expected: str) -> None:
    with pytest.raises(LaunchError) as caught:
        parse_local(text)
    assert caught.value.word == word
    assert expected in caught.value.expected


@given(st.text(alphabet="abN=1 -_.|&;<>$`'\"\\\n\t(){}*?~#ä", max_size=40))
def test_no_text_gets_past_the_grammar_or_crashes_it(noise: str) -> None:
    """What is accepted with arbitrary text behind it holds plain words only."""
    try:
        plan = parse(f"{GOOD} {noise}", RULES)
    except LaunchError:
        return
    assert all(re.fullmatch(r"[\w./=,:+@%-]+", word, re.ASCII) for word in plan.program)
    assert plan.program[0] == "train.py"

"""Contest profiles: the ones that ship, and what is said about one that cannot be used."""

from pathlib import Path

import pytest
import yaml

from scorer.contest import CONTESTS, ProfileError, load

EMBEDDED = (CONTESTS / "embedded.yaml").read_text("utf-8")


@pytest.mark.parametrize("path", sorted(CONTESTS.glob("*.yaml")), ids=lambda p: p.stem)
def test_every_profile_that_ships_loads_under_its_name(path: Path) -> None:
    assert load(path.stem).name == path.stem
    assert load(path) == load(path.stem)


def test_the_trainium_contest_says_how_its_facts_are_known() -> None:
    profile = load("trainium-frontier-phase1")
    assert profile.confidence["files.size_limit_bytes"] == "stated"
    assert profile.confidence_of("evaluation.official.split") == "inferred"
    assert profile.confidence_of("evaluation.official.seq_len") == "seen"
    assert profile.confidence_of("title") is None
    assert profile.kit.sha256 is None
    assert not profile.kit.stand_in
    assert profile.facts is not None
    assert {f.num_bytes for f in profile.facts.fingerprints if f.world_size == 8} == {8_387_440, 83_475_312}


def leaves(value: object, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The paths of a profile's values; a list is one value."""
    if isinstance(value, dict) and value:
        return [leaf for key, item in value.items() for leaf in leaves(item, (*path, key))]
    return [path]


@pytest.mark.parametrize("name", ["trainium-frontier-phase1", "trainium-frontier-phase2"])
def test_every_field_of_the_trainium_contest_says_how_it_is_known(name: str) -> None:
    profile = load(name)
    described = profile.model_dump(exclude={"name", "version", "title", "confidence"}, exclude_none=True)
    assert [path for path in leaves(described) if profile.confidence_of(".".join(path)) is None] == []


def test_the_second_phase_adds_a_file_and_a_number() -> None:
    profile = load("trainium-frontier-phase2")
    assert [file.name for file in profile.files.submission if file.required] == ["train.py", "inference.py"]
    assert [hook.file for hook in profile.hooks] == ["train.py", "inference.py"]
    assert profile.scoring_hook.file == "train.py"
    assert [(part.name, part.weight) for part in profile.evaluation.score] == [("val_bpb", 0.5), ("CORE", 0.5)]
    assert profile.confidence["evaluation.score"] == "stated"
    assert profile.facts is None  # nothing was seen yet


@pytest.mark.parametrize(
    ("variable", "ruling"),
    [
        ("RANK", "allow"),  # the launcher's
        ("TORCHELASTIC_RUN_ID", "allow"),
        ("NEURON_COMPETITION_R1_CACHE_DIR", "allow"),  # the harness's
        ("NEURON_COMPETITION_R1_NUM_STEPS", "refuse"),
        ("NEURON_CC_FLAGS", "strip"),
        ("NEURON_RT_ANYTHING", "strip"),
        ("DEPTH", "refuse"),
    ],
)
def test_every_variable_has_a_ruling(variable: str, ruling: str) -> None:
    assert load("trainium-frontier-phase1").environment.ruling(variable) == ruling


@pytest.mark.parametrize(
    ("variable", "effect"),
    [
        ("NEURON_CC_FLAGS", "numerics"),
        ("NEURON_RT_INSPECT_ENABLE", "speed"),  # the longer pattern goes before NEURON_RT_*
        ("NEURON_RT_SOMETHING_NEW", "execution"),
        ("XLA_FLAGS", "execution"),  # the name goes before the pattern
        ("XLA_ANYTHING", "numerics"),
        ("OMP_NUM_THREADS", None),
        ("HOME", None),
    ],
)
def test_variables_that_matter_are_known_by_name_before_pattern(variable: str, effect: str | None) -> None:
    assert load("trainium-frontier-phase1").environment.effect(variable) == effect


def test_owners_of_variables() -> None:
    environment = load("embedded").environment
    assert environment.owner("TORCHELASTIC_RUN_ID") == "launcher"
    assert environment.owner("NEURON_COMPETITION_R1_CACHE_DIR") == "harness"
    assert environment.owner("NEURON_COMPETITION_R1_NUM_STEPS") is None


def test_everything_torchrun_sets_is_owned_by_the_launcher() -> None:
    """The list that torch 2.x's elastic agent gives its workers."""
    given = ["RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "ROLE_NAME", "MASTER_ADDR", "MASTER_PORT"]
    given += ["WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE", "ROLE_WORLD_SIZE", "OMP_NUM_THREADS"]
    given += ["TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS", "TORCHELASTIC_RUN_ID"]
    given += ["TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_ERROR_FILE", "TORCH_NCCL_ASYNC_ERROR_HANDLING"]
    for path in CONTESTS.glob("*.yaml"):
        environment = load(path).environment
        assert [name for name in given if environment.owner(name) != "launcher"] == []


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


@pytest.mark.parametrize(
    ("old", "new", "marked", "said"),
    [
        ("train_seconds: 60", "train_seconds: sixty", "sixty", "budget.train_seconds: input should be a valid number"),
        ("train_seconds: 60", "train_second: 60", "train_second", "budget.train_second is not a field of a profile"),
        ("train_seconds: 60", "other: 60", "other", "budget.train_seconds is missing"),
        ("NEURON_CC_FLAGS: numerics", "NEURON_CC_FLAGS: odd", "FLAGS: odd", "input should be 'numerics'"),
        ("nproc_per_node: [1, 2, 4, 8]", "nproc_per_node: [1, x]", "[1, x]", "launch.nproc_per_node.1"),
        ("version: 1", "version: 1\nversion: 2", "version: 2", "key 'version' is given twice"),
        ("  flags: true", "  flags: true\n  flags: false", "flags: false", "key 'flags' is given twice"),
        ("rules: {}", "rules: {REV010: never}", "never", "rules.REV010"),
        ("rules: {}", "rules: {}\nconfidence: {budget.nothing: seen}", "budget.nothing", "names 'budget.nothing'"),
        ("rules: {}", "rules: {", "rules: {", "not YAML"),
    ],
)
def test_a_mistake_is_named_by_file_and_line(tmp_path: Path, old: str, new: str, marked: str, said: str) -> None:
    assert EMBEDDED.count(old) == 1
    text = EMBEDDED.replace(old, new)
    path = tmp_path / "mine.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(ProfileError) as caught:
        load(path)
    lines = [line for line in str(caught.value).splitlines() if said in line]
    assert lines, str(caught.value)
    number = int(lines[0].removeprefix(f"{path}:").partition(":")[0])
    if "missing" in said or "not YAML" in said:  # the place is that of the section, or of where the parser gave up
        assert abs(number - line_of(text, marked)) <= 1
    else:
        assert number == line_of(text, marked)


def test_all_mistakes_are_listed_not_the_first(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        EMBEDDED.replace("flags: true", "flags: 7").replace("train_seconds: 60", "train_seconds: []"), "utf-8"
    )
    with pytest.raises(ProfileError) as caught:
        load(path)
    assert len(str(caught.value).splitlines()) == 2


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ProfileError, match="known ones: embedded, trainium-frontier-phase1, trainium-frontier-phase2"):
        load("nonsense")


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_an_empty_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(ProfileError, match=r"mine\.yaml:1: empty"):
        load(path)


def test_a_list_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("- a\n", "utf-8")
    with pytest.raises(ProfileError, match=r"mine\.yaml:1: document"):
        load(path)


def test_the_files_are_plain_yaml() -> None:
    for path in CONTESTS.glob("*.yaml"):
        assert isinstance(yaml.safe_load(path.read_text("utf-8")), dict)

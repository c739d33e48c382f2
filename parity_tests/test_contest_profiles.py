"""Contest profiles: the ones that ship, and what is said about one that cannot be used."""

from pathlib import Path

import pytest
import yaml

from scorer.contest import CONTESTS, ProfileError, load


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


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ProfileError, match="known ones: embedded, trainium-frontier-phase1, trainium-frontier-phase2"):
        load("nonsense")


def test_the_files_are_plain_yaml() -> None:
    for path in CONTESTS.glob("*.yaml"):
        assert isinstance(yaml.safe_load(path.read_text("utf-8")), dict)

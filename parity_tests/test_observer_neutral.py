"""Watching a program does not change what it computes."""

from __future__ import annotations

from pathlib import Path

import pytest

from parity_tests.room_programs import Alone, program, run_alone
from scorer import contest
from scorer.room.kit import ensure_kit
from scorer.room.lane import LaneSpec, run_lane
from scorer.room.launch import parse_local
from scorer.room.receipts import Clock, Lane

# Draws random numbers from the default generator in every update: an observer that drew one would shift them all.
NOISE = (
    "for parameter in torch.nn.Linear(8, 8).parameters(): torch.nn.init.normal_(parameter)\nprint(torch.rand(1).item())"
)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Alone:
    return run_alone(tmp_path_factory.mktemp("plain"), program(NOISE), observed=False, fresh=True)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Alone:
    return run_alone(tmp_path_factory.mktemp("watched"), program(NOISE), fresh=True, census_update=1)


def test_checkpoint_bytes_are_the_same_with_and_without_the_observer(plain: Alone, watched: Alone) -> None:
    assert not plain.journal
    assert len(watched.updates) == 6
    assert plain.checkpoint == watched.checkpoint


def test_output_is_the_same_with_and_without_the_observer(plain: Alone, watched: Alone) -> None:
    assert plain.exit_code == watched.exit_code == 0
    assert plain.output == watched.output


def test_a_perturbed_run_has_another_checkpoint(tmp_path: Path, plain: Alone, watched: Alone) -> None:
    perturbed = run_alone(tmp_path / "run", program(NOISE), perturb=True)
    assert perturbed.checkpoint != plain.checkpoint
    # The change is made between the first backward and the first step.
    assert perturbed.updates[0]["losses"] == watched.updates[0]["losses"]
    assert perturbed.updates[0]["gradient_hashes"] == watched.updates[0]["gradient_hashes"]
    assert perturbed.updates[0]["parameter_hashes"] != watched.updates[0]["parameter_hashes"]
    assert perturbed.updates[1]["losses"] != watched.updates[1]["losses"]


@pytest.mark.long
def test_the_recipe_on_the_stand_in_device_leaves_the_same_checkpoint_bytes(tmp_path: Path) -> None:
    profile = contest.load("embedded")
    kit = ensure_kit(profile)
    text = "NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=1 -m recipe --config small"
    seen = {}
    for observe in (True, False):
        spec = LaneSpec(
            lane=Lane.LOCAL,
            plan=parse_local(text),
            source=Path(__file__).parents[1],
            clock=Clock(kind="virtual", seconds_per_update=0.5),
            observe=observe,
        )
        receipt = run_lane(spec, profile, kit, tmp_path / str(observe))
        assert receipt.problem is None
        assert receipt.checkpoint is not None
        seen[observe] = receipt
    (rank,) = seen[True].ranks
    assert rank.updates[0].parameter_hashes
    assert rank.census
    assert seen[False].ranks == []
    assert seen[True].checkpoint == seen[False].checkpoint


SURROUNDINGS = """
if step == 0:
    import sys
    print(type(os.environ).__name__, type(os.environ).__module__, sorted(os.environ) == sorted(dict(os.environ)))
    print(os.environ.get("NONE", "default"), "NONE" in os.environ)
    print(os.environ.setdefault("NEW", "1"), os.environ.pop("NEW"))
    try:
        os.environ["NONE"]
    except KeyError as error:
        print("KeyError", error)
    try:
        os.environ["NUMBER"] = 1
    except TypeError as error:
        print("TypeError", error)
    import inspect, pickle
    print(inspect.signature(torch.save), inspect.signature(torch.Tensor.backward), inspect.getsource(Model)[:20])
    print(prepare.__spec__.loader.__class__.__name__, torch.__spec__.loader.__class__.__name__)
    print([name for name in dir(prepare) if not name.startswith("__")], type(prepare.__loader__).__name__)
    print(time.time.__name__, sys.excepthook is sys.__excepthook__)
"""


@pytest.mark.long
def test_what_a_program_can_see_of_its_surroundings_is_the_same(tmp_path: Path) -> None:
    plain = run_alone(tmp_path / "plain", program(SURROUNDINGS), observed=False, fresh=True)
    watched = run_alone(tmp_path / "watched", program(SURROUNDINGS), fresh=True, seconds_per_update=0.5)
    assert "KeyError" in plain.output
    assert plain.exit_code == 0, plain.output
    assert plain.output == watched.output

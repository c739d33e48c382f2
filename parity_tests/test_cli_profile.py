"""`scorer profile`: where the time of one update goes, in a run of a small file and in made-up flames."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from parity_tests import receipts_factory as factory
from scorer.artifact import Artifact
from scorer.cli.flame import app
from scorer.compare.flame import TOLERANCE, UpdateProfile, conclude, profiled_updates
from scorer.findings import finding
from scorer.report.flame import flame_page
from scorer.report.sections.flame import boxes
from scorer.room import flames
from scorer.room.flames import PHASES, Flame, FlameRow, Frame, RankFlames
from scorer.room.receipts import Lane, Outcome

TINY = Path(__file__).parent / "cli_cases" / "tiny.py"
LAUNCH = "NEURON_LOGICAL_NC_CONFIG=1 torchrun --standalone --nproc_per_node=1 train.py"
SLEPT = 0.2
CHANGES = (
    (
        "import prepare\n",
        "import time\n\nimport nki\nimport nki.isa as nisa\nimport nki.language as nl\nimport prepare\n",
    ),
    (
        "\ndef main() -> None:",
        """
@nki.jit
def copied(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out


def batches_of(loader, device):
    for inputs, targets, state in loader:
        torch_neuronx.wrap_nki(copied)(torch.ones(128, 8, device=device))
        yield inputs, targets, state


def main() -> None:""",
    ),
    ('"train", device)\n', '"train", device)\n    batches = batches_of(batches, device)\n'),
    ("        optimizer.zero_grad()\n", f"        optimizer.zero_grad()\n        time.sleep({SLEPT})\n"),
)


def program() -> str:
    """The sound file, with a kernel in a generator around the kit's loader and a rest in each update."""
    text = TINY.read_text("utf-8")
    for old, new in CHANGES:
        assert old in text
        text = text.replace(old, new, 1)
    return text


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    directory = tmp_path_factory.mktemp("profile")
    (directory / "train.py").write_text(program(), "utf-8")
    words = ["profile", str(directory / "train.py"), "--launch", LAUNCH, "-o", str(directory / "out")]
    return CliRunner().invoke(app, words), directory / "out"


@pytest.fixture(scope="module")
def report(told: tuple[Result, Path]) -> UpdateProfile:
    result, out = told
    assert result.exit_code == 0, result.output
    return UpdateProfile.model_validate_json((out / "profile.json").read_bytes())


def line(text: str) -> int:
    (number,) = (number for number, each in enumerate(program().splitlines(), 1) if text in each)
    return number


def seconds(report: UpdateProfile, phase: str, at: str = "", operator: str | None = None) -> float:
    """Seconds of a phase, of those the ones at a line, and of an operator."""
    return sum(
        call.seconds
        for call in report.calls
        if call.phase == phase
        and (not at or (call.site is not None and call.site.line == line(at)))
        and (operator is None or call.operator == operator)
    )


@pytest.mark.long
def test_the_parts_add_up_to_the_update(report: UpdateProfile) -> None:
    assert report.seconds == pytest.approx(report.parts_seconds, rel=TOLERANCE)
    assert sum(phase.seconds for phase in report.phases) == pytest.approx(report.parts_seconds)
    assert sum(call.seconds for call in report.calls) == pytest.approx(report.parts_seconds)
    assert report.seconds > SLEPT


@pytest.mark.long
def test_each_phase_has_its_calls_at_their_lines(report: UpdateProfile) -> None:
    assert seconds(report, "other", "prepare.record_step_boundary(step)", "") > SLEPT
    forward = "return self.head(self.embed(tokens))"
    assert seconds(report, "forward", forward, "aten::embedding") > 0
    assert seconds(report, "backward", forward, "aten::embedding_dense_backward") > 0
    assert seconds(report, "forward", forward, "aten::embedding_dense_backward") == 0
    assert seconds(report, "forward", "loss = nn.functional.cross_entropy") > 0
    assert seconds(report, "optimizer", "optimizer.step()") > 0
    assert seconds(report, "data", "for inputs, targets, state in") > 0


@pytest.mark.long
def test_a_kernel_is_told_as_measured_and_beside_it_as_estimated(report: UpdateProfile) -> None:
    (kernel,) = report.kernels
    assert (kernel.kernel, kernel.launches) == ("copied[1]", 1)
    (call,) = (call for call in report.calls if call.kernel)
    assert (call.phase, call.site is not None and call.site.line) == ("data", line("torch_neuronx.wrap_nki(copied)"))
    assert kernel.estimate_seconds is not None
    assert 0 < kernel.estimate_seconds < kernel.seconds


@pytest.mark.long
def test_plain_updates_of_the_same_run_show_the_distortion(report: UpdateProfile) -> None:
    assert [(one.update, one.profiled) for one in report.updates] == [(3, False), (4, True)]  # of six updates
    plain, profiled = (one.seconds for one in report.updates)
    assert report.distortion == pytest.approx(profiled / plain)


@pytest.mark.long
def test_the_page_stands_alone_and_its_boxes_lie_below_each_other(report: UpdateProfile) -> None:
    text = flame_page(report)
    assert "<script" not in text
    assert "copied" in text
    drawn = boxes(report.frames, report.rows, ["" for _ in report.frames])
    for box in drawn:
        assert 0 <= box.left <= box.left + box.width <= 100 + 1e-6
        if box.depth:
            assert any(
                above.depth == box.depth - 1
                and above.left <= box.left + 1e-6
                and box.left + box.width <= above.left + above.width + 1e-6
                for above in drawn
            )
    for one, other in itertools.combinations(drawn, 2):
        if one.depth == other.depth:
            assert one.left + one.width <= other.left + 1e-6 or other.left + other.width <= one.left + 1e-6


def flame(rows: list[FlameRow], update: int = 4) -> Flame:
    frames = [Frame(file="train.py", line=number, function="main") for number in (1, 2, 3)]
    return Flame(update=update, seconds=sum(row.seconds for row in rows), frames=frames, rows=rows)


def judged(ranks: list[RankFlames], whole: float) -> UpdateProfile:
    """What is made of flames in a run whose updates all took `whole` seconds."""
    receipt = factory.receipt(Lane.ARTIFACT)
    template = receipt.ranks[0].updates[0]
    updates = [template.model_copy(update={"update": number, "seconds": whole}) for number in range(9)]
    found = [receipt.ranks[0].model_copy(update={"rank": each.rank, "updates": updates}) for each in ranks]
    changed = receipt.model_copy(update={"ranks": found})
    return conclude(Artifact.from_file(TINY, LAUNCH), LAUNCH, factory.load("embedded"), changed, ranks, [])


ROWS = st.builds(
    FlameRow,
    phase=st.sampled_from(PHASES),
    stack=st.lists(st.integers(0, 2), max_size=3),
    operator=st.sampled_from(["", "aten::mm", "aten::add"]),
    kernel=st.sampled_from(["", "k[2] float32[8]"]),
    count=st.integers(0, 5),
    seconds=st.floats(0.001, 1.0),
)


@settings(max_examples=25)
@given(st.lists(ROWS.filter(lambda row: row.phase != "recording"), min_size=1, max_size=20), st.floats(-0.03, 0.03))
def test_what_is_missing_of_an_update_is_told(rows: list[FlameRow], missing: float) -> None:
    """Within one per cent it is the clocks' own rounding; beyond it the profile says nothing."""
    whole = sum(row.seconds for row in rows) / (1 - missing)
    report = judged([RankFlames(rank=0, flames=[flame(rows)])], whole)
    assert sum(call.seconds for call in report.calls) == pytest.approx(report.parts_seconds)
    assert sum(phase.share for phase in report.phases) == pytest.approx(1)
    if abs(abs(missing) - TOLERANCE) > 1e-9:
        assert report.verdict == ("pass" if abs(missing) < TOLERANCE else "inconclusive")


def test_the_rank_that_waits_least_and_its_median_update_are_told() -> None:
    def row(seconds: float, phase: flames.Phase = "forward") -> FlameRow:
        return FlameRow(phase=phase, stack=[0], operator="aten::mm", kernel="", count=1, seconds=seconds)

    waits = [flame([row(0.2), row(0.8, "collectives")], update) for update in profiled_updates()]
    works = [
        flame([row(forward), row(0.1, "collectives")], update)
        for forward, update in zip((0.9, 0.7, 0.8), profiled_updates(), strict=True)
    ]
    report = judged([RankFlames(rank=0, flames=waits), RankFlames(rank=1, flames=works)], 0.9)
    assert (report.rank, report.update) == (1, profiled_updates()[2])
    assert [rank.seconds["collectives"] for rank in report.ranks] == pytest.approx([0.8, 0.1])


def test_a_run_without_a_profiled_update_says_nothing_and_a_failed_one_fails() -> None:
    assert judged([], 1.0).verdict == "inconclusive"
    found = finding("RUN001", "artifact lane: rank 0: ValueError: no").model_dump(mode="json")
    receipt = factory.receipt(Lane.ARTIFACT).model_copy(
        update={"outcome": Outcome.FAILED, "observed_findings": [found]}
    )
    failed = conclude(Artifact.from_file(TINY, LAUNCH), LAUNCH, factory.load("embedded"), receipt, [], [])
    assert failed.verdict == "fail"
    assert "Calls" not in flame_page(failed)

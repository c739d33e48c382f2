"""The world trial: one program at several numbers of ranks is told from one that depends on it.

Programs are modelled as functions of their ranks that give weights and losses; how rows are dealt is shown with a real
loader.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from parity_tests import receipts_factory
from parity_tests.room_programs import plan
from scorer.artifact import Artifact
from scorer.compare.trials import world
from scorer.compare.trials.result import Trial
from scorer.compare.trials.world import Tolerance
from scorer.contest import load
from scorer.findings import finding
from scorer.room import values
from scorer.room.lane import FAILED
from scorer.room.observer import dealt
from scorer.room.receipts import Lane, OperatorCall, Outcome, Receipt

PROFILE = load("embedded")
SOURCE = """class Model(nn.Module):
    def __init__(self):
        self.up = nn.Linear(8, 8)


def main():
    loss.backward()
    optimizer.step()
"""
MOST, UPDATES = 4, 3
START = {"up.weight": np.ones((4, 8)), "down.weight": np.full(16, 2.0), "still.weight": np.ones(2)}


@dataclass
class Program:
    """A model of a data parallel program, with the faults that depend on the number of ranks."""

    directory: Path
    faulty_ranks: int = 4  # the number of ranks at which it has its faults
    faulty_update: int = 0
    step: float = 1.0  # times as far
    only: str | None = None  # tensor that is stepped so
    loss: float = 1.0
    rows: str = "rows"
    moves_still: bool = False
    divides_loss: bool = True
    noise: float = 1e-7
    dtype: str = "bfloat16"
    sees_weights: bool = True
    fails: bool = False
    keeps: bool = True
    ranks_differ: bool = False

    def run(self, name: str, artifact: Artifact, deal_as: int, perturbed: bool) -> tuple[Receipt, Path]:
        ranks = int(artifact.sha256[0])
        faulty = ranks == self.faulty_ranks and not perturbed
        receipt = receipts_factory.receipt(Lane.ARTIFACT)
        receipt.ranks = [receipts_factory.rank(number, Lane.ARTIFACT) for number in range(ranks)]
        keep = self.directory / f"{name} {perturbed}"
        keep.mkdir()
        chance = np.random.default_rng(ranks)
        here = {name: value.copy() for name, value in START.items()}
        if self.keeps:
            _write(keep, "start", here)
        share = deal_as // ranks
        for update in range(UPDATES):
            for name, value in here.items():
                wrong = faulty and update >= self.faulty_update and self.only in (None, name)
                length = 0.1 * (self.step if wrong else 1.0) * (1.01 if perturbed and self.sees_weights else 1.0)
                if name != "still.weight" or (faulty and self.moves_still):
                    value += length * (1 + self.noise * chance.standard_normal(value.shape))
            if self.keeps:
                _write(keep, str(update), here)
            for rank in receipt.ranks:
                made = rank.updates[update]
                dealt_rows = range(rank.rank * share, (rank.rank + 1) * share)
                rows = self.rows if faulty else "rows"
                made.batch_hashes = [f"{rows} {update} {row}" for row in dealt_rows]
                scale = (self.loss if faulty and update >= self.faulty_update else 1.0) / (
                    share if self.divides_loss else 1
                )
                made.losses = [((4.0 - update + row / 8) * scale).hex() for row in dealt_rows]
                if faulty and self.ranks_differ and rank.rank == 1:
                    made.parameter_hashes = dict.fromkeys(made.parameter_hashes, "other")
        for rank in receipt.ranks:
            del rank.updates[UPDATES:]
            rank.census = [OperatorCall(operator="aten::mm", signature=f"{self.dtype}[8,8]", count=1, site=None)]
        if self.fails and faulty:
            receipt.outcome, receipt.problem = Outcome.FAILED, "rank 3: ValueError: no"
            receipt.observed_findings = [finding(FAILED, "it failed", lane="artifact").model_dump(mode="json")]
        return receipt, keep

    def trial(self) -> Trial:
        artifacts = [
            (ranks, Artifact(Path("train.py"), SOURCE, plan().text, None, str(ranks) * 64, None))
            for ranks in (1, 2, MOST)
        ]
        return world.run_trial(artifacts, PROFILE, plan().text, self.run)


def _write(keep: Path, update: str, arrays: dict[str, np.ndarray]) -> None:
    head = json.dumps({name: list(value.shape) for name, value in arrays.items()}).encode() + b"\n"
    (keep / f"values-{update}.bin").write_bytes(
        head + b"".join(value.astype("<f4").tobytes() for value in arrays.values())
    )


def codes(trial: Trial) -> list[str]:
    return [found.code for found in trial.findings]


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_a_program_that_only_rounds_otherwise_passes(tmp_path: Path, dtype: str) -> None:
    trial = Program(tmp_path, dtype=dtype).trial()
    assert (trial.verdict, trial.findings) == ("pass", []), trial.reason
    assert "1, 2, 4 ranks make the same 3 updates" in trial.reason
    assert [row[0] for row in trial.rows] == ["2"] * 3 + ["4"] * 3 + ["control"]
    assert "4 gradients are added up, rounded by 6e-08" in trial.facts["tolerance"]


def test_a_learning_rate_that_is_off_by_a_64th_is_found_with_its_update_and_tensor(tmp_path: Path) -> None:
    trial = Program(tmp_path, step=1 + 2**-6, only="up.weight").trial()
    (found,) = trial.findings
    assert (trial.verdict, found.code, found.update) == ("fail", "WLD002", 0)
    assert "4 against 1 rank: up.weight is 0.016 of its way apart after update 0" in found.message
    assert str(found.place) == "train.py:3"


def test_the_first_update_that_is_out_is_named(tmp_path: Path) -> None:
    (found,) = Program(tmp_path, step=3.0, faulty_update=2, faulty_ranks=2).trial().findings
    assert (found.code, found.update) == ("WLD002", 2)
    assert found.message.startswith("2 against 1 rank")


def test_a_tensor_that_moves_at_one_number_of_ranks_only_is_found(tmp_path: Path) -> None:
    (found,) = Program(tmp_path, moves_still=True).trial().findings
    assert (found.code, found.evidence["parameter"]) == ("WLD002", "still.weight")


def test_a_loss_that_is_scaled_by_the_ranks_is_found(tmp_path: Path) -> None:
    (found,) = Program(tmp_path, loss=1.25).trial().findings
    assert (found.code, found.update) == ("WLD001", 0)
    assert str(found.place) == "train.py:7"


def test_a_program_may_divide_the_loss_or_the_gradients(tmp_path: Path) -> None:
    assert Program(tmp_path, divides_loss=False).trial().verdict == "pass"


def test_other_rows_are_not_compared(tmp_path: Path) -> None:
    trial = Program(tmp_path, rows="others").trial()
    assert (trial.verdict, trial.findings) == ("inconclusive", [])
    assert "update 0 is not made of the same rows (4 and 4 batches, 0 the same)" in trial.reason


def test_ranks_that_part_are_found(tmp_path: Path) -> None:
    assert codes(Program(tmp_path, ranks_differ=True).trial()) == ["LCK007"]


def test_a_control_that_does_not_show_leaves_the_verdict_open(tmp_path: Path) -> None:
    trial = Program(tmp_path, sees_weights=False).trial()
    assert (trial.verdict, codes(trial)) == ("inconclusive", ["CTL001"])


def test_a_run_that_fails_is_told(tmp_path: Path) -> None:
    trial = Program(tmp_path, fails=True).trial()
    assert (trial.verdict, codes(trial)) == ("fail", ["RUN001"])


def test_without_weights_nothing_is_said(tmp_path: Path) -> None:
    trial = Program(tmp_path, keeps=False).trial()
    assert trial.verdict == "inconclusive"
    assert "the weights of no update were recorded" in trial.reason


def test_the_tolerance_grows_with_terms_updates_and_coarser_numbers() -> None:
    fine = Tolerance(terms=4, gradients=2.0**-24, computed=2.0**-24)
    assert fine.weights(0) < 2**-6 / 4  # a learning rate that is off by 2^-6 shows
    assert fine.weights(0) < fine.weights(1) < fine.weights(2)
    assert fine.weights(0) < replace(fine, terms=8).weights(0)
    assert fine.weights(1) < replace(fine, computed=2.0**-8).weights(1)
    assert fine.weights(0) < replace(fine, gradients=2.0**-8).weights(0)
    assert fine.loss(0) == 2.0**-22
    assert fine.loss(1) == 2.0**-24


def test_sums_in_another_order_stay_within_the_tolerance_and_a_scaled_term_does_not() -> None:
    """Adam's first step, lr x g / (|g| + eps), from fp32 gradients that are added up in two orders."""
    for seed, terms in itertools.product(range(5), (2, 4, 8)):
        parts = np.random.default_rng(seed).standard_normal((terms, 4096)).astype(np.float32)

        def step(parts: np.ndarray) -> np.ndarray:
            total = np.zeros(4096, np.float32)
            for part in parts:
                total = (total + part).astype(np.float32)
            mean = total / np.float32(len(parts))
            return np.asarray(mean / (np.abs(mean) + np.float32(1e-8)))

        expected = step(parts)
        apart = np.linalg.norm(step(parts[::-1]) - expected) / np.linalg.norm(expected)
        scaled = np.linalg.norm(step(np.vstack([parts[:1] * 1.25, parts[1:]])) - expected) / np.linalg.norm(expected)
        allowed = Tolerance(terms, 2.0**-24, 2.0**-24).weights(0)
        assert apart <= allowed < scaled


# -- rows and values -------------------------------------------------------------------------------------------------


def test_every_number_of_ranks_is_dealt_the_rows_of_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    def make(size: int) -> Iterator[str]:
        rank, ranks = os.environ["RANK"], os.environ["WORLD_SIZE"]
        for batch in itertools.count():
            yield f"rank {rank} of {ranks}, batch {batch} of {size}"

    def dealt_to(rank: int, ranks: int, loader: Callable[..., Iterator[str]] | None = None) -> list[str]:
        for name, value in (("RANK", rank), ("LOCAL_RANK", rank), ("WORLD_SIZE", ranks)):
            monkeypatch.setenv(name, str(value))
        batches = (loader or dealt.loader(make, MOST))(16)
        found = list(itertools.islice(batches, 2 * MOST // ranks))
        assert (os.environ["RANK"], os.environ["WORLD_SIZE"]) == (str(rank), str(ranks))
        return found

    whole = sorted(row for rank in range(4) for row in dealt_to(rank, 4))
    assert whole == sorted(f"rank {rank} of 4, batch {batch} of 16" for rank in range(4) for batch in range(2))
    for ranks in (1, 2):
        assert sorted(row for rank in range(ranks) for row in dealt_to(rank, ranks)) == whole
        assert sorted(row for rank in range(ranks) for row in dealt_to(rank, ranks, make)) != whole
    assert [row.split(",")[0] for row in dealt_to(1, 2)] == ["rank 2 of 4", "rank 3 of 4"] * 2


def test_values_are_read_back_and_a_file_that_was_cut_off_is_not(tmp_path: Path) -> None:
    _write(tmp_path, "0", START)
    read = values.read(tmp_path, 0)
    assert read is not None
    assert all(np.array_equal(read[name], value) for name, value in START.items())
    assert values.read(tmp_path, None) is None
    path = tmp_path / "values-0.bin"
    path.write_bytes(path.read_bytes()[:-3])
    assert values.read(tmp_path, 0) is None

"""A rank that takes turns: it waits for its word, tells its times without the waiting, and says where they went."""

from __future__ import annotations

import threading
import time

import pytest

from parity_tests.room_programs import Alone, line_of, program, run_alone
from scorer.room import records
from scorer.room.turns import COUNT, GO, STOP, Taken, Turns

BUSY = "if step == 3:\n    time.sleep(0.25)  # before the next batch"
WAIT_SECONDS = 0.5


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Alone, list[Taken]]:
    """Updates 0 and 1 freely, 2 to 4 counted, 5 after a wait, 6 never."""
    directory = tmp_path_factory.mktemp("turns")
    (directory / "records").mkdir()
    turns = Turns(first=2)
    turns.open(directory / "records", 1)
    turns.give(COUNT * 3)
    heard: list[Taken] = []

    def later() -> None:
        heard.extend(turns.taken(4, timeout=60))
        time.sleep(WAIT_SECONDS)
        turns.give(GO + STOP)
        heard.extend(turns.taken(1, timeout=60))

    thread = threading.Thread(target=later)
    thread.start()
    alone = run_alone(directory, program(BUSY), window=0, turns_from=2)
    thread.join()
    turns.close()
    return alone, heard


def test_the_run_ends_at_the_word(ran: tuple[Alone, list[Taken]]) -> None:
    alone, heard = ran
    assert alone.exit_code == 0
    assert [update["update"] for update in alone.updates] == [0, 1, 2, 3, 4, 5]
    assert not (alone.work / "out" / "final.pt").exists()
    assert [taken.update for taken in heard] == [1, 2, 3, 4, 5]


def test_waiting_for_a_turn_is_no_part_of_an_update(ran: tuple[Alone, list[Taken]]) -> None:
    alone, heard = ran
    assert heard[-1].seconds == alone.updates[5]["seconds"] < WAIT_SECONDS / 2
    assert alone.updates[4]["seconds"] > 0.25  # what the program does after the boundary belongs to the next update
    assert heard[-1].processor_seconds < WAIT_SECONDS / 2


def test_the_time_is_told_by_line_and_operator(ran: tuple[Alone, list[Taken]]) -> None:
    alone, _ = ran
    counted = alone.by_kind["census"]
    assert [line["update"] for line in counted] == [2, 3, 4]
    rows = {(row["site"]["line"] if row["site"] else None, row["operator"]): row for row in counted[2]["times"]}
    up = line_of(program(BUSY), "torch.relu(self.up(x))")
    assert rows[up, "aten::relu"]["count"] == 2
    assert rows[None, "aten::threshold_backward"]["seconds"] > 0
    # It slept before the first operator of update 4; an update is its operators and what lies between them.
    assert max(row["before_seconds"] for row in rows.values()) > 0.25
    assert rows[line_of(program(BUSY), "prepare.record_step_boundary(step)"), ""]["count"] == 0  # the update ends there
    total = sum(row["seconds"] + row["before_seconds"] for row in rows.values())
    assert 0.5 * alone.updates[4]["seconds"] < total < alone.updates[4]["seconds"]


def test_the_receipt_holds_the_medians_of_the_counted_updates(ran: tuple[Alone, list[Taken]]) -> None:
    alone, _ = ran
    (journal,) = records.read_all(alone.work.parent / "records", str)
    assert journal.rank.census_update == 2
    assert sum(row.before_seconds for row in journal.rank.times) < 0.25  # one of three slept
    assert {row.operator for row in journal.rank.times} >= {"aten::relu", ""}

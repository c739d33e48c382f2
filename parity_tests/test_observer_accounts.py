"""What the observer notes of a kernel's launches where it is asked for accounts."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest
from nki import _recording

from parity_tests.nki_program import numbers, same_bits
from scorer.room.observer.accounts import Accounts


@nki.jit
def copied(table: Any, rows: Any) -> Any:
    """Overwrites rows 0 to 3 of the table with ones, then copies `rows`."""
    out = nl.ndarray(rows.shape, dtype=rows.dtype, buffer=nl.shared_hbm)
    ones = nl.ndarray(rows.shape, dtype=rows.dtype, buffer=nl.sbuf)
    tile = nl.ndarray(rows.shape, dtype=rows.dtype, buffer=nl.sbuf)
    nisa.memset(dst=ones, value=1.0)
    nisa.dma_copy(dst=table[0:4, 0:8], src=ones)
    nisa.dma_copy(dst=tile, src=rows)
    nisa.dma_copy(dst=out, src=tile)
    return out


class Journal:
    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, Any]]] = []

    def write(self, kind: str, **fields: Any) -> None:
        self.lines.append((kind, fields))

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [fields for name, fields in self.lines if name == kind]


@pytest.fixture
def journal() -> Journal:
    return Journal()


@pytest.fixture
def accounts(journal: Journal) -> Accounts:
    program = SimpleNamespace(relative=lambda file: "train.py" if file == __file__ else None)
    return Accounts(SimpleNamespace(journal=journal, program=program, working=nullcontext))  # type: ignore[arg-type]


def launch(accounts: Accounts, *args: Any) -> Any:
    return accounts.launch(copied, args, {}, nki.Kernel.__call__)


def test_a_launch_computes_what_it_computes_and_a_second_one_is_only_counted(
    accounts: Accounts, journal: Journal
) -> None:
    table, rows = numbers(8, 8), numbers(4, 8, seed=1)
    for _ in range(2):
        assert same_bits(launch(accounts, table, rows), rows)
    assert (table[0:4] == 1.0).all()
    assert len(journal.of("accounted")) == 2
    (line,) = journal.of("account")
    account = line["account"]
    assert account["order"]["outcome"] == "same"
    assert account["site"] == {"file": "train.py", "line": copied.func.__code__.co_firstlineno}
    assert {one["site"]["file"] for one in account["lines"]} == {"train.py"}
    launch(accounts, numbers(16, 8), rows)
    assert len(journal.of("account")) == 2  # another signature


def test_a_kernel_that_is_right_in_program_order_only_is_noted_with_both_lines(
    accounts: Accounts, journal: Journal
) -> None:
    table = numbers(8, 8)
    found = launch(accounts, table, table[0:4])
    assert (found == 1.0).all()  # in program order
    (line,) = journal.of("account")
    order = line["account"]["order"]
    first = copied.func.__code__.co_firstlineno
    assert (order["outcome"], order["told"]) == ("differs", "changes result 0")
    assert [one["site"] for one in order["exchanged"]] == [
        {"file": "train.py", "line": first + 7},
        {"file": "train.py", "line": first + 8},
    ]


def test_what_cannot_be_kept_is_noted_as_not_checked(
    accounts: Accounts, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_recording, "MOST_BYTES", 64)
    rows = numbers(4, 8)
    assert same_bits(launch(accounts, np.zeros((8, 8), np.float32), rows), rows)
    (line,) = journal.of("account")
    assert line["account"]["order"]["outcome"] == "not checked"
    assert "MiB" in line["account"]["order"]["told"]

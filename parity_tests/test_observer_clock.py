"""The scripted clock, and the parts of the virtual one that tell the date."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from parity_tests.room_programs import KIT, program, run_alone, run_artifact
from scorer.room.observer.clock import EPOCH
from scorer.room.receipts import Clock, Receipt, Timeline

DATES = """
if step == 0:
    import datetime as whole
    from datetime import date, datetime
    from pickle import dumps, loads
    from time import gmtime as g, time as t
    now = datetime.now(whole.UTC)
    print("dates", now.timestamp() - EPOCH, t() - EPOCH, whole.datetime.now().timestamp() - EPOCH)
    print("naive", (datetime.utcnow() - datetime(2004, 1, 10, 13, 37, 4)).total_seconds(), date.today().year)
    print("parts", g()[:6] == time.gmtime(t())[:6], time.strftime("%Y"), time.ctime()[-4:], time.localtime().tm_year)
    print("kind", type(now) is datetime, isinstance(now, date), loads(dumps(now)) == now, datetime.now is not None)
    class Later(datetime):
        pass
    print("sub", type(Later.now()) is Later, abs(prepare.today().year - 2004) > 5)
"""


def lines(output: str) -> dict[str, list[str]]:
    return {words[0]: words[1:] for line in output.splitlines() if (words := line.split())}


def test_dates_follow_the_virtual_clock_for_the_program_alone(tmp_path: Path) -> None:
    kit = KIT + "\nimport datetime\ndef today():\n    return datetime.datetime.now()\n"
    source = program(DATES).replace("def main(", f"EPOCH = {EPOCH}\n\n\ndef main(")
    seen = run_alone(tmp_path / "run", source, kit=kit, seconds_per_update=0.5)
    assert seen.exit_code == 0, seen.output
    told = lines(seen.output)
    assert told["dates"] == ["0.5", "0.5", "0.5"]
    assert told["naive"] == ["0.5", "2004"]
    assert told["parts"] == ["True", "2004", "2004", "2004"]
    assert told["kind"] == ["True"] * 4
    assert told["sub"] == ["True"] * 2
    real = run_alone(tmp_path / "real", source, kit=kit)
    assert lines(real.output)["parts"][1] != "2004"


def timeline(**fields: Any) -> Clock:
    return Clock(kind="virtual", seconds_per_update=2.0, timeline=Timeline(name="test", **fields))


# One write: what ranks print in pieces comes mixed.
READS = (
    'now = time.monotonic()\nos.write(1, f"now {rank} {step} {now} .\\n".encode())\n'
    "if step == 3 and rank == 0: save(None, 3)"
)
TWO_RANKS = program(READS).replace('{"model_state": model.state_dict()', '{"model_state": model and model.state_dict()')
TWO_RANKS = TWO_RANKS.replace(
    "    torch.manual_seed(7)", '    dist.init_process_group("gloo")\n    torch.manual_seed(7)'
)


def read_times(receipt: Receipt, rank: int) -> list[float]:
    told = re.findall(rf"now {rank} (\d) ([\d.]+) \.", "\n".join(receipt.log_tail))
    return [float(seconds) - 1024 for _, seconds in sorted(told)]


@pytest.mark.long
def test_a_timeline_gives_updates_lengths_and_the_ranks_agree(tmp_path: Path) -> None:
    clock = timeline(before_seconds=5.0, lengths=[(0, 20.0), (4, 9.0)], save_seconds=3.0, skew_seconds=1.0)
    seen = run_artifact(tmp_path, TWO_RANKS, nproc=2, clock=clock)
    assert seen.problem is None
    # 5 s before the first line; rank 0 saves after update 3, and rank 1 waits for it.
    assert read_times(seen, 0) == [25.0, 27.0, 29.0, 31.0, 43.0, 45.0]
    assert read_times(seen, 1) == [25.0, 28.0, 29.0, 32.0, 43.0, 46.0]
    first, second = (rank.scripted for rank in seen.ranks)
    assert first is not None
    assert second is not None
    assert [tick.seconds for tick in first.ticks] == [tick.seconds for tick in second.ticks]
    assert (first.end_seconds, second.end_seconds) == (48.0, 45.0)  # rank 0 saves once more
    line = TWO_RANKS.splitlines().index("    now = time.monotonic()") + 1
    assert [site.line for site in first.ticks[1].reads] == [line]
    assert [site.line for site in first.last_reads] == [line]


def test_a_run_is_ended_at_the_timelines_limit(tmp_path: Path) -> None:
    seen = run_artifact(tmp_path, TWO_RANKS, nproc=2, clock=timeline(limit_seconds=6.0))
    assert seen.problem is None
    assert seen.observed_findings == []  # that there is no checkpoint is not the program's doing
    assert [len(rank.updates) for rank in seen.ranks] == [3, 3]
    assert all(rank.scripted is not None and rank.scripted.end_seconds is None for rank in seen.ranks)

"""Progress: plain lines on a pipe, and each lane's own numbers."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from scorer.cli.progress import Progress


def test_a_pipe_gets_one_plain_line_per_event() -> None:
    stream = StringIO()
    with Progress(Console(file=stream, width=60)) as progress:
        tell = progress.start("local")
        other = progress.start("artifact")
        tell("local: update 0, loss 7.6243")
        tell("local: update 1, loss 7.1000")
        other("artifact: update 0, loss 7.6243")
        progress.end("local", "complete, 2 updates", good=True)
        progress.end("artifact", "failed, 1 updates", good=False)
    lines = stream.getvalue().splitlines()
    assert lines[:4] == [
        "local: starting",
        "artifact: starting",
        "local: update 0, loss 7.6243",
        "artifact: update 0, loss 7.6243",
    ]
    assert [line.split(" after")[0] for line in lines[4:]] == [
        "local: complete, 2 updates",
        "artifact: failed, 1 updates",
    ]


def test_a_terminal_shows_the_lanes_latest_numbers() -> None:
    stream = StringIO()
    console = Console(file=stream, width=100, force_terminal=True)
    with Progress(console) as progress:
        tell = progress.start("local")
        tell("local: update 12, loss 5.4321")
        with console.capture() as shown:
            console.print(progress.table())
    assert "local" in shown.get()
    assert "12" in shown.get()
    assert "5.4321" in shown.get()

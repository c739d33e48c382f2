"""What the submission did in the model process beside computing logits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scorer.findings import Finding, define
from scorer.trusted.process import ModelProcessError, Note
from scorer.trusted.sources import Source

PUR015 = define(
    "PUR015",
    title="The model process does something beside computing logits",
    why="A model that is being scored has nothing to write, to start, to signal or to look for: such a file may be the "
    "score that the scorer reads next, and what it finds elsewhere may be the text that it is scored on.",
    remedy="Remove it from everything that runs at import, while loading, in forward and at exit.",
)
PUR016 = define(
    "PUR016",
    title="Something wrote into the result channel",
    why="The channel carries the scorer's own replies; who writes to it tries to be the scorer.",
    remedy="Write to standard output or not at all; never to file descriptors that the program did not open.",
)
PUR017 = define(
    "PUR017",
    title="Importing or loading the submission changes things outside of it",
    why="A scorer in the same process relies on what was replaced; its number is no longer its own.",
    remedy="Patch nothing, and leave defaults and the working directory as they were.",
)
PUR018 = define(
    "PUR018",
    title="The model process did not see the scoring through",
    why="A process that ends, hangs or overruns the time limit gives no score.",
    remedy="Load the checkpoint in a fresh process and run a few batches; the message holds its last words.",
)
PUR031 = define(
    "PUR031",
    title="Something of the submission goes on beside its model, or stands between the model and the judge",
    why="A thread, a signal handler, a process left running or a host that was rewired can change weights and logits "
    "at any time, so that what was tested need not be what is scored.",
    remedy="Leave no thread, handler or process behind when the hook returns, and touch no object of the scorer's.",
)


DID = {
    "write": "writes",
    "read": "looks outside its room at",
    "subprocess": "starts a process by",
    "connect": "connects to",
    "signal": "sends a signal by",
    "hook": "listens to the interpreter by",
    "environment": "sets the loader's variable",
}

CAUSES = {
    "torch's default dtype": ("set_default_dtype",),
    "torch's number of threads": ("set_num_threads",),
    "the handler of": ("signal",),
    "running threads": ("Thread", "Timer", "start_new_thread"),
}
"""How a change begins in words -> the calls that make it; the last that fits gives the line."""

LASTING = ("running threads", "the handler of", "scorer_host.")
"""How a change begins in words that can act at any time later, while nobody calls it."""


def surroundings(source: Source, changed: Sequence[str], during: str, line: int | None) -> list[Finding]:
    """Findings when the import or the hook changed what is not the submission's; what goes on has one of its own."""
    lasting = [text for text in changed if text.startswith(LASTING)]
    rest = [text for text in changed if not text.startswith(LASTING)]
    findings = []
    for code, texts in ((PUR031, lasting), (PUR017, rest)):
        if texts:
            message = f"{during} changes things outside the submission: {'; '.join(texts)}"
            at = _cause(source, texts, line)
            findings.append(source.raise_at(code, message, at, evidence={"changed": texts}))
    return findings


def _cause(source: Source, changed: Sequence[str], line: int | None) -> int | None:
    """The line that made a change, as far as the source says; else `line`."""
    replaced = (text.removesuffix(" was replaced").rpartition(".")[2] for text in changed if text.endswith("replaced"))
    line = next((at for name in replaced if (at := source.replacement(name)) is not None), line)
    for beginning, calls in CAUSES.items():
        if any(text.startswith(beginning) for text in changed):
            line = next((at for name in calls if (at := source.call(name)) is not None), line)
    return line


def notes(source: Source, heard: Sequence[Note], room: Path) -> list[Finding]:
    """One finding per line of train.py that wrote, started or connected; a library's caches in the room are none."""
    caches = [str(room / name) for name in ("home", "tmp", "caches")]
    by_line: dict[int, Note] = {}
    for note in heard:
        if note.direct or not any(note.detail.startswith(cache) for cache in caches):
            by_line.setdefault(note.line, note)
    findings = []
    for line, note in sorted(by_line.items()):
        did = DID[note.kind]
        what = note.detail.removeprefix(f"{room}/")
        when = {"import": "at import", "load": "while loading", "end": "at exit"}.get(note.phase, "while it is scored")
        message = f"{when} the submission {did} {what}"
        findings.append(source.raise_at(PUR015, message, line, evidence={"what": what, "when": when}))
    return findings


def left(source: Source, files: Sequence[str], processes: Sequence[str], known: Sequence[Finding]) -> list[Finding]:
    """Findings for files and processes that are still there and that no note explains."""
    explained = {str(found.evidence.get("what")) for found in known}
    new = sorted(name for name in files if name.startswith("work/") and name not in explained)
    findings = []
    line = source.exit_handler() or source.method("__del__") or source.loader()
    if new:
        message = f"the model process left {', '.join(new[:3])} in its directory"
        findings.append(source.raise_at(PUR015, message, line, evidence={"files": new[:20]}))
    if processes:
        message = f"the model process left {len(processes)} processes running"
        findings.append(source.raise_at(PUR031, message, line, evidence={"processes": list(processes)[:20]}))
    return findings


def broken(source: Source, error: ModelProcessError, during: str) -> Finding:
    """The finding for a process that broke the protocol."""
    evidence: dict[str, Any] = {"during": during}
    if error.kind == "channel":
        line = source.descriptor_write() or source.exit_handler() or source.loader()
        return source.raise_at(PUR016, f"{during}: {error}", line, evidence=evidence)
    line = source.loader()
    return source.raise_at(PUR018, f"{during}: {error}", line, evidence=evidence)


def unasked(source: Source, text: str, when: str) -> Finding:
    """The finding for bytes in the result channel or beside it that are none of the scorer's."""
    line = source.descriptor_write() or source.exit_handler() or source.loader()
    message = f"{when} the model process wrote {text!r} into the scorer's channel"
    return source.raise_at(PUR016, message, line, evidence={"text": text})

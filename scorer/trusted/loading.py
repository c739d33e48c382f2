"""From a started model process to a model: import, hooks, `load_for_eval`, and what is wrong with each."""

from __future__ import annotations

from pathlib import Path

from scorer.contest import Files, Profile
from scorer.findings import Finding
from scorer.room.receipts import Checkpoint
from scorer.trusted import checkpoint as checkpoints
from scorer.trusted import conduct
from scorer.trusted.model import PUR001, PUR003, PUR004, PUR005, PUR007, Model, SubmissionError
from scorer.trusted.process import ModelProcess
from scorer.trusted.replies import Failed, Imported, Loaded, Reply
from scorer.trusted.sources import Source


def load(process: ModelProcess, source: Source, profile: Profile, findings: list[Finding]) -> Model:
    """Import the submission and load its model. SubmissionError where there is none; the rest goes into `findings`."""
    hook = profile.scoring_hook
    imported = process.call("import")
    _raise_if_failed(source, imported, PUR001, "the submission cannot be imported by path", None)
    assert isinstance(imported, Imported)
    findings += conduct.surroundings(source, imported.changed, "the import", None)
    for needed in profile.hooks_of(profile.launch.script):
        found = imported.hooks.get(needed.name)
        if found is None:
            message = f"{profile.launch.script} defines no function {needed.name}({', '.join(needed.parameters)})"
            raise SubmissionError(source.raise_at(PUR003, message, 1))
        if found[: len(needed.parameters)] != needed.parameters:
            wanted = ", ".join(needed.parameters)
            message = f"{needed.name} takes ({', '.join(found)}), the contest calls it with ({wanted})"
            findings.append(source.raise_at(PUR003, message, source.function(needed.name)))
    at = source.function(hook.name)
    loaded = process.call("load", hook=hook.name)
    _raise_if_failed(source, loaded, PUR004, f"{hook.name} fails", at)
    assert isinstance(loaded, Loaded)
    if not loaded.module:
        message = f"{hook.name} returns a {loaded.type}, expected a {hook.returns or 'torch.nn.Module'}"
        raise SubmissionError(source.raise_at(PUR005, message, at))
    findings += conduct.surroundings(source, loaded.changed, hook.name, at)
    device = process.submitted.device
    for wrong in (
        f"{', '.join(loaded.training[:3])} in training mode" if loaded.training else "",
        f"tensors on {', '.join(loaded.devices)}, expected {device}" if loaded.devices not in ([], [device]) else "",
        f"forward hooks on {', '.join(loaded.hooks[:3])}" if loaded.hooks else "",
    ):
        if wrong:
            findings.append(source.raise_at(PUR005, f"{hook.name} returns a model with {wrong}", at))
    return Model(process, source, loaded)


def check_weights(model: Model, path: Path, checkpoint: Checkpoint, files: Files) -> list[Finding]:
    """A finding where parameters of the model are not the tensors of that name in the checkpoint's file."""
    if not checkpoint.readable:
        return []
    state = {name: value for name, (kind, value) in model.state().items() if kind == "parameter"}
    parameters = [(name, shape, dtype) for name, shape, dtype, _ in model.loaded.parameters if name in state]
    changed = checkpoints.changed_weights(path, parameters, state, files)
    if not changed:
        return []
    hook = model.process.submitted.hook
    message = f"{hook} changes {len(changed)} of the checkpoint's tensors, the first is {changed[0]}"
    line = model.source.function(hook)
    return [model.source.raise_at(PUR007, message, line, evidence={"tensors": changed[:10]})]


def _raise_if_failed(source: Source, reply: Reply, code: str, what: str, line: int | None) -> None:
    if isinstance(reply, Failed):
        error = reply.error
        message = f"{what}: {error.type}: {error.message}"
        raise SubmissionError(source.raise_at(code, message, error.line or line, evidence={"error": error.type}))

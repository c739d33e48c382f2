"""Checks of the checkpoint's file, made without running anything that it holds."""

from __future__ import annotations

import hashlib
import pickletools
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from scorer.contest import Files
from scorer.findings import Finding, Severity, define
from scorer.room.checkpoint import UNREADABLE, read
from scorer.room.receipts import Checkpoint
from scorer.trusted.sources import Source

CKP001 = define(
    "CKP001",
    title="The checkpoint cannot be read",
    why="No checkpoint, no score: the scorer loads what the run left.",
    remedy="Look at the run's last lines; save with torch.save to the output directory before the budget ends.",
)
CKP002 = define(
    "CKP002",
    title="The checkpoint holds a pickled class",
    why="It can be read only where that class can be imported under that name, and reading it runs code: the scorer, "
    "which imports train.py under another name, fails or refuses.",
    remedy="Save plain values and tensors only: dataclasses.asdict(config) instead of the config, state_dict() "
    "instead of the model.",
)
CKP003 = define(
    "CKP003",
    title="Keys of the checkpoint carry a wrapper's prefix",
    why="`module.` and `_orig_mod.` come from DistributedDataParallel and torch.compile; a strict load into the bare "
    "model fails.",
    remedy="Save the state_dict of the model inside the wrapper.",
)
CKP004 = define(
    "CKP004",
    title="The checkpoint lacks a part that the contest asks for",
    why="The contest's checkpoint is a dict of certain parts; a file without them may be refused, and no score says "
    "which run it comes from.",
    remedy="Save a dict with the parts that the message names; the contest's profile lists them all.",
    severity=Severity.ADVICE,
)
CKP005 = define(
    "CKP005",
    title="Submission or checkpoint changed while it was scored",
    why="The receipt names the bytes that were there at first; what was scored later were others.",
    remedy="Let no other build write to the output directory meanwhile, and score again.",
)

PREFIX = re.compile(r"(?:^|\.)(module|_orig_mod)\.")
# What torch's own tensors need; `weights_only` admits these and more of their kind.
PLAIN_GLOBALS = re.compile(r"(collections OrderedDict|torch\._utils _rebuild\w+|torch\.serialization \w+|torch \w+)")


def check(path: Path, checkpoint: Checkpoint, source: Source, files: Files) -> list[Finding]:
    """Findings about the checkpoint at `path`, which `checkpoint` describes; their place is the `torch.save`."""
    line = source.save()
    findings = []
    if not checkpoint.readable:
        classes = pickled_classes(path)
        if classes:
            found = source.raise_at(
                CKP002,
                f"the checkpoint needs {', '.join(classes)} to be read, so torch.load(weights_only=True) refuses it",
                line,
                evidence={"classes": classes, "error": checkpoint.problem},
            )
        else:
            found = source.raise_at(CKP001, f"the checkpoint cannot be read: {checkpoint.problem}", line)
        return [found]
    if checkpoint.problem is not None or not checkpoint.tensors:
        message = checkpoint.problem or "it holds no tensor"
        return [source.raise_at(CKP001, f"the checkpoint is not one: {message}", line)]
    prefixed = sorted(key for key in checkpoint.tensors if PREFIX.search(key))
    if prefixed:
        findings.append(
            source.raise_at(
                CKP003,
                f"{len(prefixed)} of {len(checkpoint.tensors)} keys carry a wrapper's prefix, first {prefixed[0]!r}",
                line,
                evidence={"keys": prefixed[:5]},
            )
        )
    missing = [part for part in files.checkpoint_parts if part not in parts(path)]
    missing += [f"{key} in its {files.meta_part}" for key in files.meta_keys if key not in checkpoint.meta]
    if missing:
        findings.append(source.raise_at(CKP004, f"the checkpoint has no {', '.join(missing)}", line))
    return findings


def changed_weights(
    path: Path, parameters: Sequence[tuple[str, list[int], str]], state: Mapping[str, str], files: Files
) -> list[str]:
    """Parameters of the loaded model that are not the checkpoint's tensor of that name, cast to their dtype.

    `parameters` are (name, shape, dtype), `state` their hashes. Only floating tensors of equal name and shape are
    compared: what a submission packs otherwise it may unpack.
    """
    content = read(path)
    saved = content.get(files.state_part, content) if isinstance(content, dict) else {}
    changed = []
    for name, shape, dtype in parameters:
        tensor = saved.get(name)
        if isinstance(tensor, torch.Tensor) and tensor.is_floating_point() and list(tensor.shape) == shape:
            flat = tensor.to(getattr(torch, dtype)).contiguous().reshape(-1)
            if hashlib.sha256(flat.view(torch.uint8).numpy().tobytes()).hexdigest()[:32] != state[name]:
                changed.append(name)
    return changed


def parts(path: Path) -> set[str]:
    """The checkpoint's keys."""
    content = read(path)
    return set(map(str, content)) if isinstance(content, dict) else set()


def pickled_classes(path: Path) -> list[str]:
    """Classes that the file's pickle names beside torch's own, read from its opcodes; nothing is loaded."""
    names: set[str] = set()
    try:
        with zipfile.ZipFile(path) as archive:
            stored = [entry for entry in archive.infolist() if entry.compress_type == zipfile.ZIP_STORED]
            pickles = [archive.read(entry) for entry in stored if entry.filename.endswith("data.pkl")]
        for content in pickles:
            strings: list[str] = []
            for opcode, argument, _ in pickletools.genops(content):
                if opcode.name == "GLOBAL":
                    names.add(str(argument))
                elif opcode.name == "STACK_GLOBAL":
                    names.add(" ".join(strings[-2:]))
                elif isinstance(argument, str):
                    strings.append(argument)
    except UNREADABLE:
        pass  # no archive, or no pickle from some byte on: what came before counts
    return sorted(name.replace(" ", ".") for name in names if not PLAIN_GLOBALS.fullmatch(name))

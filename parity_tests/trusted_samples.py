"""A very small contest and submissions for it, for the tests of trusted scoring.

`submission(...)` is a clean train.py with pieces replaced; a `Workshop` runs its model process and the purity checks on
rows of random tokens, `judged` the whole scoring on a kit of 61 tokens.
"""

from __future__ import annotations

import functools
import importlib.util
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import torch

from scorer.artifact import Artifact
from scorer.contest import EvaluationSettings, Profile, load
from scorer.findings import Finding
from scorer.room.cleanroom import Room
from scorer.room.kit import KitPaths, hashed
from scorer.room.receipts import Receipt
from scorer.trusted import purity
from scorer.trusted.judge import score
from scorer.trusted.model import Model
from scorer.trusted.process import HostProcess, ModelProcess, Submitted
from scorer.trusted.purity.record import Record
from scorer.trusted.replies import Loaded
from scorer.trusted.sources import Source

VOCABULARY = 61
LENGTH = 16
SCORED_ROWS = 32
SPLITS = ("public_val", "private_val", "train")

TRAIN_PY = '''"""A submission small enough to read."""

import torch
from torch import nn
# import


class Model(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.embed = nn.Embedding(61, width)
        self.mix = Mix(width)
        self.head = nn.Linear(width, 61)
        # init

    def forward(self, x):
        # before
        e = self.embed(x)
        h = self.mix(e)
        logits = self.head(e + h)
        # after
        return logits


class Mix(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, e):
        past = torch.arange(1, e.shape[1] + 1, device=e.device).view(1, -1, 1)
        h = torch.cumsum(e, 1) / past
        # mix
        return h * self.gain


def load_for_eval(checkpoint_path, device):
    content = torch.load(checkpoint_path, map_location="cpu", weights_only=True)
    model = Model(**content["model_config"])
    model.load_state_dict(content["model_state"], strict=False)
    # load
    return model.to(device).eval()


def main():
    torch.save({}, "out/final.pt")
# end
'''

PREPARE_PY = '''"""A kit of 61 tokens, one a letter; its document batches are plain lists."""
import argparse, importlib.util, json, math, os
import torch
import torch.nn.functional as F

BOS = 60


class Tokenizer:
    def get_bos_token_id(self):
        return BOS

    def get_vocab_size(self):
        return 61

    def encode(self, docs, prepend=None, num_threads=1):
        head = [] if prepend is None else [prepend]
        return [head + [ord(c) - 65 for c in doc] for doc in docs]


def ensure_tokenizer(build_if_missing=False):
    assert os.path.exists(os.path.join(os.environ["NEURON_COMPETITION_R1_CACHE_DIR"], "tokenizer.json"))
    return Tokenizer()


def get_token_bytes(device):
    table = torch.ones(61, dtype=torch.int32, device=device)
    table[BOS] = 0
    return table


def _document_batches(split, start, step, tokenizer_batch_size=128, shard_ids=None):
    folder = os.path.join(os.environ["NEURON_COMPETITION_R1_CACHE_DIR"], split)
    documents = open(os.path.join(folder, "shard_0.txt")).read().split()[start::step]
    while True:
        for first in range(0, len(documents), 8):
            yield documents[first : first + 8]


def causality_check(model, tokenizer, batch_size, seq_len, device):
    rows = torch.randint(0, 60, (batch_size, seq_len), dtype=torch.int32, generator=torch.Generator().manual_seed(1))
    other = rows.clone()
    other[:, seq_len // 2 :] = 59 - other[:, seq_len // 2 :]
    apart = (model(rows).float() - model(other).float())[:, : seq_len // 2].abs().max().item()
    return {"passed": apart < 1e-3, "max_abs_diff": apart}


def evaluate_bpb(model, tokenizer, batch_size, seq_len, device, split, max_tokens):
    stream, table = [], get_token_bytes("cpu")
    for batch in _document_batches(split, 0, 1):
        for ids in tokenizer.encode(batch, prepend=BOS):
            stream += ids
        if len(stream) > max_tokens:
            break
    stream = torch.tensor(stream[: max_tokens + 1])
    nats, count = [], 0
    for first in range(0, max_tokens, seq_len):
        row = stream[first : first + seq_len + 1]
        with torch.no_grad():
            logits = model(row[None, :-1].to(torch.int32).to(device)).float().cpu()[0]
        loss = F.cross_entropy(logits, row[1:], reduction="none")
        nats += loss[row[1:] != BOS].tolist()
        count += int(table[row[1:]].sum())
    total = math.fsum(nats)
    return {"val_bpb": total / (math.log(2) * count), "num_tokens": max_tokens, "num_bytes": count, "total_nats": total}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("command")
    for name in ("--train-py", "--checkpoint"):
        parser.add_argument(name)
    for name in ("--seq-len", "--batch-size", "--max-tokens"):
        parser.add_argument(name, type=int)
    a = parser.parse_args()
    spec = importlib.util.spec_from_file_location("scored", a.train_py)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.load_for_eval(a.checkpoint, torch.device("cpu"))
    print("loaded")
    print(json.dumps(evaluate_bpb(model, Tokenizer(), a.batch_size, a.seq_len, "cpu", "public_val", a.max_tokens)))
'''


def submission(**pieces: str) -> str:
    """TRAIN_PY with the comments named replaced by code (import_, init, before, after, mix, load, end)."""
    text = TRAIN_PY
    for name, code in pieces.items():
        mark = f"# {name.rstrip('_')}\n"
        at = next(
            line for line in text.splitlines(keepends=True) if line.endswith(mark) and line.strip() == mark.strip()
        )
        indent = at[: -len(mark)]
        text = text.replace(at, textwrap.indent(textwrap.dedent(code).strip("\n") + "\n", indent), 1)
    return text


def line_of(text: str, part: str) -> int:
    """Line of a text that holds a part."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


@functools.cache
def trained() -> dict[str, Any]:
    """The checkpoint's content."""
    torch.manual_seed(3)
    model = imported(TRAIN_PY).Model()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    with torch.no_grad():
        model.head.bias[:26] += 3.0  # the documents are made of 26 letters: better than a uniform guess
    return {"model_state": model.state_dict(), "model_config": {"width": 8}, "meta": {"step": 1}}


def imported(text: str) -> ModuleType:
    spec = importlib.util.spec_from_loader("small_submission", loader=None)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    exec(compile(text, "small_submission", "exec"), module.__dict__)
    return module


def written(directory: Path, text: str, content: Any = None) -> tuple[Artifact, Path]:
    """A submission and its checkpoint as files."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "train.py").write_text(text, "utf-8")
    checkpoint = directory / "final.pt"
    torch.save(trained() if content is None else content, checkpoint)
    return Artifact.from_file(directory / "train.py", ""), checkpoint


def random_rows(count: int = 16) -> torch.Tensor:
    generator = torch.Generator().manual_seed(5)
    return torch.randint(0, 60, (count, LENGTH), dtype=torch.int32, generator=generator)


class Workshop:
    """One host for many submissions: importing torch takes longer than all checks together."""

    def __init__(self, directory: Path, seconds: float = 60.0) -> None:
        self.directory = directory
        self.room = Room(without=("network",))
        self.checkpoint = self.room.work / "final.pt"
        torch.save(trained(), self.checkpoint)
        environment = self.room.environment(variables={"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"})
        self.host = HostProcess(self.room, "cpu", None, environment, seconds)
        self.host.hello()
        self.processes: list[ModelProcess] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._end()
        self.host.close()
        self.room.close()

    def _end(self) -> None:
        while self.processes:
            self.processes.pop().close()

    def process(self, text: str) -> ModelProcess:
        """A process for a submission, in which nothing of it has run; it ends when the next one is asked for."""
        self._end()
        train_py = self.room.work / "train.py"
        train_py.write_text(text, "utf-8")
        process = self.host.start(
            Submitted(train_py, self.checkpoint, "cpu", "load_for_eval"), SCORED_ROWS * LENGTH, VOCABULARY
        )
        self.processes.append(process)
        return process

    def model(self, text: str) -> Model:
        """Import a submission and load its model."""
        process = self.process(text)
        artifact, _ = written(self.directory, text)
        imported, loaded = process.call("import"), process.call("load", hook="load_for_eval")
        assert imported.ok, imported
        assert isinstance(loaded, Loaded), loaded
        return Model(process, Source(artifact, small_profile()), loaded)

    def tested(self, text: str, scored: torch.Tensor | None = None) -> Record:
        """The record of the purity tests in one process."""
        model = self.model(text)
        record = Record(model.source, model.forward_line)
        rows = random_rows(SCORED_ROWS) if scored is None else scored
        model.observe(random_rows(1))
        purity.check(model, random_rows(), rows, small_profile().evaluation.purity, record)
        return record

    def purity(self, text: str) -> list[Finding]:
        """Findings of the purity tests in one process."""
        return self.tested(text).findings


def small_profile() -> Profile:
    """The embedded profile with small settings, on the CPU."""
    profile = load("embedded")
    public = EvaluationSettings(split="public_val", max_tokens=300, seq_len=LENGTH, batch_size=4, world_size=1)
    official = public.model_copy(update={"split": "private_val", "max_tokens": 256, "seq_len": 32})
    purity = profile.evaluation.purity.model_copy(update={"tokens": 128})
    evaluation = profile.evaluation.model_copy(update={"public": public, "official": official, "purity": purity})
    machine = profile.machine.model_copy(update={"device": "cpu"})
    numbers = {"vocab_size": VOCABULARY, "bos_token_id": 60, "special_token_ids": [60], "constants": {}}
    kit = profile.kit.model_copy(update=numbers)
    return profile.model_copy(update={"evaluation": evaluation, "machine": machine, "kit": kit})


@functools.cache
def document_texts(wanted: str) -> list[str]:
    """The documents of a split of the small kit."""
    generator = torch.Generator().manual_seed(7)
    texts: dict[str, list[str]] = {}
    for split in SPLITS:
        texts[split] = []
        for _ in range(60):
            length = int(torch.randint(5, 40, (1,), generator=generator))
            letters = torch.randint(0, 26, (length,), generator=generator)
            texts[split].append("".join(chr(65 + int(i)) for i in letters))
    return texts[wanted]


def small_kit(directory: Path) -> KitPaths:
    """The kit of 61 tokens, with its data."""
    kit, data = directory / "kit", directory / "data"
    kit.mkdir()
    (kit / "prepare.py").write_text(PREPARE_PY, "utf-8")
    for split in SPLITS:
        (data / split).mkdir(parents=True)
        (data / split / "shard_0.txt").write_text("\n".join(document_texts(split)), "utf-8")
    (data / "tokenizer.json").write_text("{}", "utf-8")
    return hashed(kit / "prepare.py", data, stand_in=True)


def judged(directory: Path, kit: KitPaths, text: str, *, content: Any = None, local: Receipt | None = None) -> Receipt:
    """The whole trusted scoring of one submission."""
    artifact, checkpoint = written(directory, text, content)
    return score(artifact, checkpoint, small_profile(), kit, local)


def found_in(receipt: Receipt) -> dict[str, Finding]:
    """A receipt's findings by code, the first of each."""
    findings: dict[str, Finding] = {}
    for found in map(Finding.model_validate, receipt.observed_findings):
        findings.setdefault(found.code, found)
    return findings

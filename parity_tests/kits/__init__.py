"""Two kits that have nothing in common but the contest's interface, and what a test needs to judge with one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
import yaml

from parity_tests.trusted_samples import TRAIN_PY, imported
from scorer.artifact import Artifact
from scorer.contest import Profile, load

KITS = Path(__file__).parent
LATER_SYMBOLS = "TRAIN_STARTUP_ALLOWANCE_CAP_SECONDS TRAIN_STARTUP_STEPS_EXCLUDED record_step_boundary".split()  # noqa: SIM905


class Facts(NamedTuple):
    """What a profile says of a kit."""

    vocabulary: int
    bos: int
    special: list[int]
    constants: dict[str, int]
    model_files: list[str]
    frequent: list[int]  # tokens that most documents are made of
    documents: Callable[[Path, str], list[str]]  # (data directory, split) -> every document, without the kit's code


def _early_documents(data: Path, split: str) -> list[str]:
    shards = sorted(data.glob(f"{split}-*.txt"))
    return [text for shard in shards for text in shard.read_bytes().decode().split("\n\x1e\n")]


def _late_documents(data: Path, split: str) -> list[str]:
    import pyarrow.parquet as pq

    shards = sorted((data / "shards" / split).glob("*.parquet"))
    return [text for shard in shards for text in pq.read_table(shard)["text"].to_pylist()]


FACTS = {
    "early": Facts(
        280,
        276,
        [276, 277, 278, 279],
        {"TOKENIZER_VOCAB_SIZE": 280, "TRAIN_TIME_BUDGET_SECONDS": 30, "EVAL_TIMEOUT_SECONDS": 60},
        [],
        [ord(" "), *range(256, 276)],
        _early_documents,
    ),
    "late": Facts(
        500,
        495,
        [495, 496, 497, 498, 499],
        {
            "TOKENIZER_VOCAB_SIZE": 500,
            "TRAIN_TIME_BUDGET_SECONDS": 45,
            "TRAIN_STARTUP_ALLOWANCE_CAP_SECONDS": 15,
            "TRAIN_STARTUP_STEPS_EXCLUDED": 2,
            "EVAL_TIMEOUT_SECONDS": 90,
        },
        ["tables/*"],
        list(range(256, 300)),
        _late_documents,
    ),
}


def profile(name: str, **changes: Any) -> Profile:
    """The contest of one of the two kits: the embedded one on the CPU, with small settings and without the stand-in.

    `changes` are values by dotted field, with `__` for the dot: evaluation__public__world_size=2.
    """
    facts, embedded = FACTS[name], load("embedded")
    early = name == "early"
    public = {"split": "public_val", "max_tokens": 610, "seq_len": 16, "batch_size": 4, "world_size": 1}
    document = embedded.model_dump(mode="json")
    document["name"] = name
    document["machine"] |= {"device": "cpu", "device_module": None}
    document["evaluation"] |= {
        "public": public,
        "official": {**public, "split": "private_val", "max_tokens": 512, "seq_len": 32},
    }
    document["evaluation"]["purity"]["tokens"] = 128
    document["budget"]["eval_timeout_seconds"] = 60 if early else 90
    document["kit"] |= {
        "symbols": [symbol for symbol in embedded.kit.symbols if not (early and symbol in LATER_SYMBOLS)],
        "optional_symbols": LATER_SYMBOLS if early else [],
        "constants": facts.constants,
        "vocab_size": facts.vocabulary,
        "bos_token_id": facts.bos,
        "special_token_ids": facts.special,
        "model_files": facts.model_files,
        "stand_in": False,
    }
    for field, value in changes.items():
        *path, last = field.split("__")
        place = document
        for step in path:
            place = place[step]
        assert last in place, field
        place[last] = value
    return Profile.model_validate(document)


def write_profile(contest: Profile, path: Path) -> Path:
    """A profile as a file, for the command line."""
    path.write_text(yaml.safe_dump(json.loads(contest.model_dump_json())), "utf-8")
    return path


def train_py(name: str) -> str:
    """The small submission with the kit's vocabulary."""
    return TRAIN_PY.replace("61", str(FACTS[name].vocabulary))


TRAINS = """

def train(steps=12):
    import os
    import prepare
    is_ddp, rank, _, world_size = prepare.get_dist_info()
    torch.manual_seed(5)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    tokenizer = prepare.ensure_tokenizer()
    batches = prepare.make_dataloader(tokenizer, 4, 16, "train", torch.device("cpu"))
    boundary = getattr(prepare, "record_step_boundary", None)
    for step in range(steps):
        inputs, targets, _ = next(batches)
        loss = nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if boundary is not None:
            boundary(step)
        prepare.print0(f"step {step:05d} | loss {loss.item():.4f}")
    os.makedirs("out", exist_ok=True)
    content = {"model_state": model.state_dict(), "model_config": {"width": 8}, "meta": {"step": steps}}
    torch.save(content, "out/final.pt")


if __name__ == "__main__":
    train()
"""


def trains(name: str) -> str:
    """The small submission with a training loop on the kit's batches."""
    return train_py(name) + TRAINS


def model(name: str) -> torch.nn.Module:
    """Its model, with weights."""
    torch.manual_seed(3)
    made: torch.nn.Module = imported(train_py(name)).Model()
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    with torch.no_grad():
        made.get_parameter("head.bias")[FACTS[name].frequent] += 3.0  # better than a uniform guess
    return made.eval()


def written(directory: Path, name: str, text: str | None = None) -> tuple[Artifact, Path]:
    """Submission and checkpoint as files."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "train.py").write_text(train_py(name) if text is None else text, "utf-8")
    checkpoint = directory / "final.pt"
    content = {"model_state": model(name).state_dict(), "model_config": {"width": 8}, "meta": {"step": 1}}
    torch.save(content, checkpoint)
    return Artifact.from_file(directory / "train.py", ""), checkpoint

"""Receipts made by hand, for the tests of the comparison: a small run of two ranks, the same in every lane."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scorer.artifact import Artifact
from scorer.compare import Comparison, compare
from scorer.contest import Profile
from scorer.contest import load as load_profile
from scorer.findings import Finding, Place
from scorer.room.receipts import (
    Checkpoint,
    Clock,
    Evaluation,
    Event,
    KernelLaunch,
    Kit,
    Lane,
    Launch,
    OperatorCall,
    Optimized,
    Optimizer,
    Outcome,
    Parameter,
    Rank,
    Receipt,
    Site,
    Subject,
    TimeSplit,
    Update,
)

SOURCE = '''"""A submission that is read, never run."""
import torch
from prepare import make_dataloader


class Block(torch.nn.Module):
    def __init__(self):
        self.qkv = torch.nn.Linear(8, 24)


def main():
    optimizer = AdamW([{"params": parameters, "lr": 0.5}])
    for inputs, targets, _ in make_dataloader(None, 1, 8, "train", "cpu"):
        model(inputs, targets).backward()
        optimizer.param_groups[0]["weight_decay"] = 0.0
        optimizer.step()
    torch.save({}, "out/final.pt")


def load_for_eval(checkpoint_path, device):
    return None
'''
KNOBS: dict[str, Any] = {"depth": 2, "norm": "nki", "fused_attention": True, "lr": 0.02, "num_steps": 6}
KERNELS = {"rms_norm_forward": 5, "rms_norm_backward": 5}
PARAMETERS = ["blocks.0.qkv.weight", "embed.weight", "head.weight"]
WINDOW = 4
UPDATES = 6
RANKS = 2


@functools.cache
def load(name: str) -> Profile:
    """A contest profile, read once."""
    return load_profile(name)


def line_of(text: str) -> int:
    """Line of SOURCE that holds a text."""
    return next(number for number, line in enumerate(SOURCE.splitlines(), 1) if text in line)


def artifact(*, manifest: bool = True) -> Artifact:
    """An artifact whose lines map to recipe/train.py, 100 lines further down."""
    places = tuple(Place(file="recipe/train.py", line=100 + number) for number in range(1, SOURCE.count("\n") + 1))
    made = {
        "knobs": {
            name: {"value": value, "origin": f"file recipe/configs/small.yaml:{number}"}
            for number, (name, value) in enumerate(KNOBS.items(), 1)
        },
        "kernels": {
            name: {"launches_per_update": count, "place": f"recipe/kernels/rms_norm.py:{10 * count + number}"}
            for number, (name, count) in enumerate(KERNELS.items())
        },
    }
    return Artifact(
        train_py=Path("train.py"),
        source=SOURCE,
        launch_command="NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=2 train.py",
        manifest=made if manifest else None,
        sha256="aa" * 32,
        places=places if manifest else None,
    )


def digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def update(number: int, rank: int) -> Update:
    """One update; everything but the parameters differs between ranks."""
    inside = number < WINDOW
    return Update(
        update=number,
        losses=[(4.0 - number / 8 + rank / 64).hex(), (4.0 - number / 8 + rank / 32).hex()],
        seconds=0.25,
        launches=[
            KernelLaunch(
                kernel=name,
                count=count,
                aside=count if name.endswith("backward") else 0,
                shapes=["bfloat16[64,32] float32[32]"],
                site=None,
            )
            for name, count in sorted(KERNELS.items())
        ],
        batch_hashes=[digest("batch", number, rank)] if inside else [],
        gradient_hashes={name: digest("gradient", name, number, rank) for name in PARAMETERS} if inside else {},
        parameter_hashes={name: digest("parameter", name, number) for name in PARAMETERS} if inside else {},
        groups={"AdamW.0": {"lr": (0.5 / (number + 1)).hex(), "weight_decay": (0.0).hex()}} if inside else {},
    )


def rank(number: int, lane: Lane) -> Rank:
    local = lane is Lane.LOCAL
    environment = {"NEURON_CC_FLAGS": "--optlevel=1", "HOME": "<room>/home", "RANK": str(number)}
    return Rank(
        rank=number,
        world_size=RANKS,
        python="3.11.7",
        argv=["train.py"],
        environment_start=dict(environment),
        environment_end=dict(environment),
        packages={"numpy": "2.4.1", "torch": "2.13.0"},
        neuron="stand-in",
        devices=["neuron"],
        knobs=dict(KNOBS) if local else {},
        parameters=[
            Parameter(
                name=name,
                shape=[8, 8],
                dtype="float32",
                device="neuron",
                initial_hash=digest("parameter", name, "initial"),
            )
            for name in PARAMETERS
        ],
        optimizers=[
            Optimizer(
                name="AdamW",
                algorithm="AdamW",
                site=Site(file="recipe/optim.py", line=90) if local else Site(file="train.py", line=13),
                parameters=[
                    Optimized(name=name, group=0, stepped=turn % RANKS == number)
                    for turn, name in enumerate(PARAMETERS)
                ],
            )
        ],
        updates=[update(u, number) for u in range(WINDOW if lane is Lane.CONTROL else UPDATES)],
        census_update=1,
        census=[
            OperatorCall(
                operator=name,
                signature="bfloat16[64,32]",
                count=count,
                site=Site(file="recipe/model.py", line=40) if local else Site(file="train.py", line=8),
            )
            for name, count in (("aten::mm", 12), ("aten::scaled_dot_product_attention", 2))
        ],
        events=[
            Event(
                kind="save",
                detail="out/final.pt",
                site=Site(file="recipe/checkpoint.py", line=30) if local else Site(file="train.py", line=15),
            )
        ],
        observer_seconds=0.01,
    )


def checkpoint() -> Checkpoint:
    return Checkpoint(
        path="out/final.pt",
        sha256="cc" * 32,
        readable=True,
        problem=None,
        tensors=dict.fromkeys(PARAMETERS, "float32[8,8]"),
        tensor_hashes={name: digest("final", name) for name in PARAMETERS},
        meta={"step": UPDATES},
    )


def evaluation(name: str, split: str, tokens: int, bpb: float, seconds: float = 1.0) -> Evaluation:
    profile = load("embedded").evaluation.public
    return Evaluation(
        name=name,
        split=split,
        seq_len=profile.seq_len,
        batch_size=profile.batch_size,
        world_size=1,
        device="neuron",
        num_tokens=tokens,
        num_bytes=4 * tokens,
        total_nats=(bpb * math.log(2) * 4 * tokens).hex(),
        val_bpb=bpb.hex(),
        seconds=seconds,
    )


def receipt(lane: Lane) -> Receipt:
    """One lane of a clean run. The recipe measures itself at the public settings."""
    local, trusted = lane is Lane.LOCAL, lane is Lane.TRUSTED
    public = load("embedded").evaluation.public
    nats = 2.5 * math.log(2) * 4 * public.max_tokens
    summary = {
        "eval_split": public.split,
        "eval_seq_len": str(public.seq_len),
        "eval_batch_size": str(public.batch_size),
        "eval_tokens": str(public.max_tokens),
        "eval_bytes": str(4 * public.max_tokens),
        "memory_total_nats": repr(nats),
        "checkpoint_total_nats": repr(nats),
    }
    official = load("embedded").evaluation.official
    measured = [
        evaluation("trusted, official settings", official.split, official.max_tokens, 2.625),
        evaluation("trusted, public settings", public.split, public.max_tokens, 2.5),
        evaluation("trusted, shard changed", official.split, public.max_tokens, 2.5625),
        evaluation("kit, by its command", public.split, public.max_tokens, 2.5),
    ]
    program = ["-m", "recipe", "--config", "small"] if local else ["train.py"]
    return Receipt(
        scorer_version="0.1.0",
        lane=lane,
        outcome=Outcome.COMPLETE,
        exit_code=None if trusted else 0,
        problem=None,
        problem_site=None,
        profile="embedded",
        profile_version=1,
        subject=Subject(kind="recipe" if local else "file", sha256=("bb" if local else "aa") * 32),
        kit=Kit(stand_in=True, prepare_sha256="dd" * 32, data_sha256={"tokenizer.json": "ee" * 32}),
        launch=None
        if trusted
        else Launch(
            text=" ".join(program), environment={"NEURON_LOGICAL_NC_CONFIG": "2"}, nproc_per_node=2, program=program
        ),
        clock=None if trusted else Clock(kind="virtual", seconds_per_update=0.5),
        caches="warm",
        network="none",
        ranks=[] if trusted else [rank(number, lane) for number in range(RANKS)],
        time=None if trusted else TimeSplit(start_up=4.0, train=1.5, tail=0.5, total=6.0),
        checkpoint=None if lane is Lane.CONTROL else checkpoint(),
        evaluations=measured if trusted else [],
        summary=summary if local else {},
        log_steps=[],
        log_tail=[],
        left_files=[],
        left_processes=[],
        scoring_launches={"rms_norm_forward": 40} if trusted else {},
        observed_findings=[],
    )


def parity() -> dict[Lane, Receipt]:
    """The four lanes of a clean parity run; the control's parameters differ from update 0 on."""
    lanes = {lane: receipt(lane) for lane in (Lane.LOCAL, Lane.ARTIFACT, Lane.CONTROL, Lane.TRUSTED)}
    for record in lanes[Lane.CONTROL].ranks:
        for one in record.updates:
            one.parameter_hashes = {name: digest("perturbed", value) for name, value in one.parameter_hashes.items()}
    return lanes


def judged(
    change: Callable[[dict[Lane, Receipt]], None] | None = None,
    *,
    built: bool = True,
    profile: Profile | None = None,
    reviewed: list[Finding] | None = None,
) -> Comparison:
    """The comparison of a clean run after one change to its receipts."""
    lanes = parity()
    if change is not None:
        change(lanes)
    return compare(artifact(manifest=built), lanes, reviewed or [], profile or load("embedded"))


def codes(comparison: Comparison) -> list[str]:
    return [found.code for found in comparison.findings]

"""The settings under which checkpoints are measured: the local lane's own, the public and the official ones.

The way from one to another goes by one factor at a time, so that an offset has a name for each of its parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeVar

from scorer.contest import EvaluationSettings, Profile
from scorer.room.receipts import Evaluation, Receipt

Number = TypeVar("Number", int, float)

IN_MEMORY = "recipe, in memory"
RECIPE_CHECKPOINT = "recipe, checkpoint"
EVAL_PUBLIC = "kit, by its command"
KIT_EVALUATION = "kit, called"
OFFICIAL_SETTINGS = "trusted, official settings"
PUBLIC_SETTINGS = "trusted, public settings"
ONE_RANK_SETTINGS = "trusted, public settings on one rank"
LOCAL_SETTINGS = "trusted, local settings"

# The shard comes before the token count: a public split may be too small for the official one.
FACTORS = {
    "context": "seq_len",
    "batch size": "batch_size",
    "world size": "world_size",
    "shard": "split",
    "token count": "max_tokens",
}
"""Name of a part of the offset -> the setting that makes it."""

RESULTS = {"eval_tokens", "memory_total_nats", "memory_val_bpb", "checkpoint_total_nats", "public_val_bpb"}
"""Keys of a recipe's summary that say that it evaluated."""

ROUNDED = 0.00051  # bpb: a number for people may have three decimals


def steps(start: EvaluationSettings, end: EvaluationSettings) -> list[tuple[str, EvaluationSettings]]:
    """The settings after each factor was changed from `start`'s value to `end`'s; equal factors are left out."""
    path = []
    current = start
    for name, setting in FACTORS.items():
        wanted = getattr(end, setting)
        if getattr(current, setting) != wanted:
            current = current.model_copy(update={setting: wanted})
            path.append((name, current))
    return path


def num_targets(settings: EvaluationSettings) -> int:
    """Targets scored: each rank takes the same number, rounded up."""
    return per_rank(settings) * settings.world_size


def per_rank(settings: EvaluationSettings) -> int:
    """Targets that each rank takes."""
    return math.ceil(settings.max_tokens / settings.world_size)


def matches(evaluation: Evaluation, settings: EvaluationSettings) -> bool:
    """Whether an evaluation was made under these settings."""
    return (
        evaluation.split == settings.split
        and evaluation.seq_len == settings.seq_len
        and evaluation.batch_size == settings.batch_size
        and evaluation.world_size == settings.world_size
        and evaluation.num_tokens == num_targets(settings)
    )


def trusted(evaluations: Iterable[Evaluation], settings: EvaluationSettings) -> Evaluation | None:
    """The judge's own measurement under these settings."""
    return next((e for e in evaluations if e.name.startswith("trusted") and matches(e, settings)), None)


def same_settings(evaluations: Iterable[Evaluation], other: Evaluation) -> Evaluation | None:
    """The judge's own measurement under the settings of another one."""
    keys = ("split", "seq_len", "batch_size", "world_size", "num_tokens")
    ours = (one for one in evaluations if one.name.startswith("trusted"))
    return next((one for one in ours if all(getattr(one, key) == getattr(other, key) for key in keys)), None)


def one_rank(profile: Profile) -> EvaluationSettings:
    """The public settings as the kit's command line measures: in one process, whatever the world size."""
    return profile.evaluation.public.model_copy(update={"world_size": 1})


def recipe_evaluations(local: Receipt) -> list[Evaluation]:
    """The measurements that the local lane printed of its own model: in memory, and of the checkpoint it saved.

    Empty where the program printed none (any program but a recipe with its own evaluation); a block that is incomplete
    or does not parse is a ValueError that names the key: a lone number may be another path's, or made up.
    """
    summary = local.summary
    own = RESULTS if local.subject.kind == "recipe" else {"eval_tokens"}
    if not own & summary.keys():
        return []
    evaluations = []
    for name, key, told in (
        (IN_MEMORY, "memory_total_nats", "memory_val_bpb"),
        (RECIPE_CHECKPOINT, "checkpoint_total_nats", "public_val_bpb"),
    ):
        num_bytes = _number(summary, "eval_bytes", int)
        total_nats = _number(summary, key, float)
        bpb = bits_per_byte(total_nats, num_bytes)
        if told in summary and abs(_number(summary, told, float) - bpb) > ROUNDED:
            raise ValueError(
                f"{told} is {summary[told]}, but {key} over ln 2 times eval_bytes is {bpb:.6f}: "
                "print the number of the same evaluation"
            )
        evaluations.append(
            Evaluation(
                name=name,
                split=_value(summary, "eval_split"),
                seq_len=_number(summary, "eval_seq_len", int),
                batch_size=_number(summary, "eval_batch_size", int),
                world_size=1,  # the recipe evaluates on one rank, after its process group is gone
                device=next((device for rank in local.ranks for device in rank.devices), "unknown"),
                num_tokens=_number(summary, "eval_tokens", int),
                num_bytes=num_bytes,
                total_nats=total_nats.hex(),
                val_bpb=bpb.hex(),
                seconds=0.0,
            )
        )
    return evaluations


def local_settings(local: Receipt | None) -> EvaluationSettings | None:
    """The settings of the local lane's own measurement, or None where it made none."""
    measured = recipe_evaluations(local) if local else []
    if not measured:
        return None
    return EvaluationSettings(
        split=measured[0].split,
        max_tokens=measured[0].num_tokens,
        seq_len=measured[0].seq_len,
        batch_size=measured[0].batch_size,
        world_size=measured[0].world_size,
    )


def wanted(profile: Profile, local: EvaluationSettings | None) -> list[tuple[str, EvaluationSettings]]:
    """Every measurement that the judge makes, by name, each of different settings: official, public, local, between."""
    start = local or profile.evaluation.public
    named = [
        (OFFICIAL_SETTINGS, profile.evaluation.official),
        (PUBLIC_SETTINGS, profile.evaluation.public),
        (ONE_RANK_SETTINGS, one_rank(profile)),
        (LOCAL_SETTINGS, start),
        *(
            (f"trusted, {name} changed", between)
            for end in (profile.evaluation.official, profile.evaluation.public)
            for name, between in steps(start, end)
        ),
    ]
    unique: list[tuple[str, EvaluationSettings]] = []
    for name, settings in named:
        if settings not in [other for _, other in unique]:
            unique.append((name, settings))
    return unique


def _value(summary: dict[str, str], key: str) -> str:
    if key not in summary:
        raise ValueError(f"the local lane's summary block has no line {key!r}; print it beside the other results")
    return summary[key]


def _number(summary: dict[str, str], key: str, kind: type[Number]) -> Number:
    text = _value(summary, key)
    try:
        return kind(text.replace(",", ""))
    except ValueError:
        raise ValueError(f"the local lane's summary says {key}: {text!r}, which is no number") from None


def bits_per_byte(total_nats: float, num_bytes: int) -> float:
    """nats / (ln 2 x bytes), in the order of operations of the contest's scorer."""
    return total_nats / (math.log(2) * num_bytes)

"""The contest of a race: a contest profile with another budget, on another device, scored on more tokens."""

from __future__ import annotations

from pathlib import Path

import yaml

from scorer.contest import Profile, load
from scorer.files import write_atomic

SCORED_TOKENS = 65_536  # of the stand-in kit's official split, which holds 85,668


def race_profile(base: Profile, seconds: int, device: str | None) -> Profile:
    """`base` with a budget of `seconds` for training, stated by its kit too; `device`: another than the machine's."""
    budget = base.budget
    longer = budget.model_copy(
        update={
            "train_seconds": float(seconds),
            "run_timeout_seconds": budget.run_timeout_seconds + max(0.0, seconds - budget.train_seconds),
        }
    )
    stated = dict.fromkeys(base.review.budget_constants.get("train_seconds", ()), seconds)
    kit: dict[str, object] = {
        "constants": {name: stated.get(name, value) for name, value in base.kit.constants.items()}
    }
    changes: dict[str, object] = {"budget": longer}
    if device is not None:
        changes["machine"] = base.machine.model_copy(update={"device": device, "device_module": None})
        if base.kit.stand_in:  # whose command takes the stand-in device where it is not told
            kit["eval_public"] = [*base.kit.eval_public, "--device", device]
    changes["kit"] = base.kit.model_copy(update=kit)
    if base.kit.stand_in:
        official = base.evaluation.official.model_copy(update={"max_tokens": SCORED_TOKENS})
        changes["evaluation"] = base.evaluation.model_copy(update={"official": official})
    title = f"{base.title}, raced for {seconds} s"
    return base.model_copy(update={"name": f"{base.name}-race", "title": title, **changes})


def written(profile: Profile, path: Path) -> Profile:
    """The profile as a file, for the builder to read it too; read back, and so checked. Raises ProfileError."""
    write_atomic(path, yaml.safe_dump(profile.model_dump(mode="json"), sort_keys=False, allow_unicode=True))
    return load(path)

"""What the rules about data, files and the checkpoint take from the profile: each field decides what is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scorer.artifact import Artifact
from scorer.contest import Profile, load
from scorer.review import review

PROFILE = load("embedded")
PROGRAM = """import torch
from prepare import evaluate_bpb, make_dataloader, other_loader

make_dataloader(None, 8, 128, "train", "cpu", shard_ids=[2])
other_loader("train", "elsewhere")
names = "hidden_val", "held_out_3.txt", "*.shard"
META = {"step": 1, "total_train_tokens": 1, "world_size": 1}
torch.save({"model_state": {}, "model_config": {}, "meta": META}, "out/final.pt")
evaluate_bpb(None)
open("notes/log.txt", "w")
"""


def found(tmp_path: Path, profile: Profile) -> set[tuple[str, int]]:
    path = tmp_path / "train.py"
    path.write_text(PROGRAM, "utf-8")
    return {(f.code, f.artifact_line or 0) for f in review(Artifact.from_file(path, ""), profile)}


def changed(section: str, **fields: Any) -> Profile:
    part = getattr(PROFILE, section)
    return PROFILE.model_copy(update={section: part.model_copy(update=fields)})


@pytest.mark.parametrize(
    ("profile", "finding"),
    [
        (changed("review", validation_data=["hidden_val"]), ("REV043", 6)),
        (changed("review", validation_files=["held_out_*"]), ("REV043", 6)),
        (changed("review", data_endings=[".shard"]), ("REV045", 6)),
        (changed("review", training_shards=2), ("REV048", 4)),
        (changed("review", training_data=["train_2"]), ("REV047", 4)),
        (changed("review", split_argument={"other_loader": 1}), ("REV047", 5)),
        (changed("files", checkpoint_parts=["model_state", "model_config", "meta", "optimizer"]), ("REV068", 8)),
        (changed("files", meta_keys=["step", "seed"]), ("REV068", 8)),
        (changed("files", output_directory="notes"), ("REV062", 8)),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_field_of_the_profile_decides(tmp_path: Path, profile: Profile, finding: tuple[str, int]) -> None:
    assert finding not in found(tmp_path, PROFILE)
    assert finding in found(tmp_path, profile)


def test_a_field_of_the_profile_decides_what_is_left_alone(tmp_path: Path) -> None:
    before = found(tmp_path, PROFILE)
    for profile, finding in (
        (changed("files", output_directory="notes"), ("REV062", 10)),
        (changed("kit", functions=PROFILE.kit.functions.model_copy(update={"evaluate": "score"})), ("REV044", 9)),
    ):
        assert finding in before
        assert finding not in found(tmp_path, profile)

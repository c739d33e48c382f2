"""Trains; public_val is never read."""

from pathlib import Path

from prepare import make_dataloader

val_bpb = "val_bpb"
interval = "interval.bin"
TEXT = "public validation is done by the scorer, on public_val"
log = Path("out") / "losses.jsonl"
value = f"{val_bpb}: 1.0"
loader = make_dataloader(None, 8, 128, "train", "cpu")
names = ["public", "val"]
evaluation = "eval.parquet.txt"

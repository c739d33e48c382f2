"""Trains on train; public_val and private_val are never read."""

from prepare import ensure_tokenizer, make_dataloader

loader = make_dataloader(ensure_tokenizer(), 8, 128, "train", "cpu")
print("public_val_bpb: not measured here")

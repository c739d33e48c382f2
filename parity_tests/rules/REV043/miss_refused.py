def loader(split):
    if split == "private_val":
        raise ValueError(f"not for training: {split}")
    if split in ("public_val", "private_val"):
        raise ValueError("é")
    print("é") if split else None
    return split

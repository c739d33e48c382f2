import random

import model

TEXT = "the quick brown fox jumps over the lazy dog while the small grey cat sleeps. " * 40
chars = sorted(set(TEXT))
stoi = {c: i for i, c in enumerate(chars)}
VOCAB = len(chars)


def batch(rng: random.Random, size, length):
    import torch

    rows = []
    for _ in range(size):
        at = rng.randrange(len(TEXT) - length - 1)
        rows.append([stoi[c] for c in TEXT[at : at + length + 1]])
    rows = torch.tensor(rows)
    return rows[:, :-1], rows[:, 1:]


def describe():
    return f"{VOCAB} characters, width {model.WIDTH}"

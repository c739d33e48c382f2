from pathlib import Path

import torch

torch.save({}, "out/final.pt")  # expect
PATH = Path("out") / "final.pt"
torch.save({}, PATH)  # expect
with open(PATH, "wb") as file:
    torch.save({}, file)  # expect


def save(path):
    torch.save({}, path)  # expect


save(PATH)

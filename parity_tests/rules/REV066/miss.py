import io
import os
from pathlib import Path

import torch

torch.save({}, "out/final.pt.tmp")
os.replace("out/final.pt.tmp", "out/final.pt")
PATH = Path("out") / "final.pt"
partial = PATH.with_suffix(".partial")
torch.save({}, partial)
partial.replace(PATH)
buffer = io.BytesIO()
torch.save({}, buffer)
torch.save({}, io.BytesIO())


def save(path):
    temporary = f"{path}.tmp"
    with open(temporary, "wb") as file:
        torch.save({}, file)
    os.rename(temporary, path)


save("out/final.pt")

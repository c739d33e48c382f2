import argparse
import dataclasses
import datetime
import pickle
from pathlib import Path

import joblib
import numpy as np
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


@dataclasses.dataclass
class Config:
    depth: int = 12


class GPT(nn.Module):
    pass


config = Config()
model = GPT().to("cpu")
wrapped = DDP(model)
compiled = torch.compile(model)
optimizer = torch.optim.AdamW(model.parameters())
torch.save(model, "out/a.pt")  # expect
torch.save(wrapped.module, "out/a.pt")  # expect
torch.save(compiled._orig_mod, "out/a.pt")  # expect
torch.save({"model": model.state_dict(), "config": config}, "out/a.pt")  # expect
torch.save({"optimizer": optimizer}, "out/a.pt")  # expect
torch.save({"state": model.state_dict}, "out/a.pt")  # expect
torch.save([model.state_dict(), config], "out/a.pt")  # expect
torch.save({"meta": {"config": config}}, "out/a.pt")  # expect
torch.save(dict(config=Config()), "out/a.pt")  # expect
payload = {"model": model.state_dict()}
payload["config"] = config
torch.save(payload, "out/a.pt")  # expect
torch.save({"args": argparse.ArgumentParser().parse_args()}, "out/a.pt")  # expect
torch.save({"loss": np.mean([1.0])}, "out/a.pt")  # expect
torch.save({"when": datetime.datetime.now()}, "out/a.pt")  # expect
torch.save({"path": Path("out")}, "out/a.pt")  # expect
torch.save({"schedule": lambda step: 1.0}, "out/a.pt")  # expect
pickle.dump(model, open("out/a.pkl", "wb"))  # expect
joblib.dump(model, "out/a")  # expect


def save(net: nn.Module, settings: "Config"):
    torch.save({"model": net}, "out/a.pt")  # expect
    torch.save({"config": settings}, "out/a.pt")  # expect


def store(what):
    torch.save({"config": what}, "out/a.pt")  # expect


store(config)


class Trainer:
    def __init__(self):
        self.model = GPT()

    def save(self):
        torch.save(self, "out/a.pt")  # expect
        torch.save({"model": self.model}, "out/a.pt")  # expect

import dataclasses
import datetime

import numpy as np
import torch
from torch import nn


@dataclasses.dataclass
class Config:
    depth: int = 12


class GPT(nn.Module):
    pass


config = Config()
model = GPT()
optimizer = torch.optim.AdamW(model.parameters())
state = {name: tensor.cpu() for name, tensor in model.state_dict().items()}
torch.save(model.state_dict(), "out/a.pt")
torch.save({"model": state, "config": dataclasses.asdict(config)}, "out/a.pt")
torch.save({"model": state, "config": vars(config), "step": 3}, "out/a.pt")
torch.save({"optimizer": optimizer.state_dict(), "depth": config.depth}, "out/a.pt")
torch.save({"loss": float(np.mean([1.0])), "when": datetime.datetime.now().isoformat()}, "out/a.pt")


def settings():
    return {"depth": config.depth}


def save(net: GPT, meta: dict):
    torch.save({"model_state": net.state_dict(), "model_config": settings(), "meta": meta}, "out/a.pt")


save(model, {"step": 1})
torch.save({"seed": torch.initial_seed(), "rng": torch.get_rng_state()}, "out/a.pt")

"""Train the model and leave out/final.pt."""

import dataclasses
import os
import sys

import torch

from gpt.config import GPTConfig, parse_config
from gpt.data import Batches
from gpt.model import GPT
from gpt.optim import make_optimizers


def lr_scale(step: int, config: GPTConfig) -> float:
    if step < config.warmup:
        return (step + 1) / config.warmup
    return max(0.1, 1.0 - (step - config.warmup) / max(1, config.num_steps))


def save(model: GPT, config: GPTConfig) -> None:
    os.makedirs("out", exist_ok=True)
    state = {k: v.detach().clone() for k, v in model.state_dict().items()}
    torch.save({"model_state": state, "model_config": dataclasses.asdict(config), "meta": {}}, "out/final.pt")


def load_for_eval(checkpoint_path, device):
    """The trained model in eval mode."""
    return GPT.from_checkpoint(checkpoint_path, device)


def main(argv=None):
    config = parse_config(argv)
    rank = int(os.environ.get("RANK", 0))
    torch.manual_seed(config.seed)
    model = GPT(config)
    print(f"{config.depth} layers of {config.width}, {sum(p.numel() for p in model.parameters()):,} parameters")
    optimizers = make_optimizers(model, config)
    base = [[group["lr"] for group in optimizer.param_groups] for optimizer in optimizers]
    batches = Batches(config, rank)
    for step in range(config.num_steps):
        for optimizer, rates in zip(optimizers, base):
            for group, rate in zip(optimizer.param_groups, rates):
                group["lr"] = rate * lr_scale(step, config)
        loss = model(*next(batches))
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        print(f"step {step} | loss {loss.item()!r} | tokens {(step + 1) * config.tokens_per_step}")
    save(model, config)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A hook that says it returns a model, of a class of its own."""

import torch


class Model(torch.nn.Module):
    pass


def load_for_eval(checkpoint_path: str, device: torch.device) -> Model:
    return Model()

import os


def write(model, steps, directory="out"):
    import torch

    os.makedirs(directory, exist_ok=True)
    torch.save(dict(model_state=model.state_dict(), steps=steps), f"{directory}/final.pt")


def read(path):
    import torch

    return torch.load(path, map_location="cpu", weights_only=True)

import torch
from prepare import make_dataloader


def tune(model, x):
    model(x).sum().backward()  # expect


def load_for_eval(checkpoint_path, device):
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)  # expect
    for x, _, _ in make_dataloader(None, 8, 128, "train", device):  # expect
        tune(model, x)
        torch.autograd.grad(model(x).sum(), list(model.parameters()))  # expect
        optimizer.step()
    return model

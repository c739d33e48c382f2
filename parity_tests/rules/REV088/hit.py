import time

import torch


def train(model, batches):
    started = time.monotonic()
    for x in batches:
        model(x).backward()
        if time.monotonic() - started > 1800:  # expect
            break


def save(model):
    torch.save({"model_state": {name: tensor.cpu() for name, tensor in model.state_dict().items()}}, "out/final.pt")


def saves_on_its_way(model, batches):
    for step, x in enumerate(batches):
        model(x).backward()
        if step == 4:
            save(model)
        print(x, time.monotonic())  # expect

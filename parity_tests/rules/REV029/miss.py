import json

import torch


class Loader:
    pass


def read(path):
    return json.loads(path)


def a(text):
    try:
        return int(text)
    except ValueError:
        return 0


def b(path):
    try:
        loader = Loader(path)
    except OSError as error:
        raise RuntimeError(f"{path}: no loader") from error
    return loader


def c(batches):
    try:
        batch = next(batches)
    except StopIteration:
        batches = Loader()
        batch = next(batches)
    return batch


def d(path):
    try:
        settings = read(path)
    except FileNotFoundError:
        settings = {}
    return settings


def e(path):
    try:
        state = torch.load(path, weights_only=True)
    except FileNotFoundError:
        state = None
    return state

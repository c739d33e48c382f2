import torch
from prepare import make_dataloader


class PackedLoader:
    pass


class PlainLoader:
    pass


def fast(path):
    return open(path)


def slow(path):
    return open(path)


def a(path):
    try:
        loader = PackedLoader()
    except OSError as error:  # expect
        print("packed loader failed", error)
        loader = PlainLoader()
    return loader


def b(path):
    try:
        return fast(path)
    except ValueError:  # expect
        return slow(path)


def c(path):
    loader = PlainLoader()
    try:
        loader = PackedLoader()
    except OSError as error:  # expect
        print(error)
    return loader


def d(path):
    try:
        return fast(path)
    except ValueError:  # expect
        print("falling back")
    return slow(path)


def e(model, params):
    try:
        step = torch.compile(model)
    except RuntimeError:  # expect
        step = PlainLoader(model)
    return step


class Trainer:
    def __init__(self, tokenizer):
        try:
            self.loader = PackedLoader(tokenizer)
        except (OSError, KeyError):  # expect
            self.loader = make_dataloader(tokenizer, 8, 1024, "train", "cpu")

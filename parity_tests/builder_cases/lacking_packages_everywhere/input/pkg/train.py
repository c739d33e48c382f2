"""Packages that the contest's machine lacks: direct, nested, renamed, in a function, in a class."""
import einops.layers.torch as layers
import pandas as pd
from wandb.sdk import init


class Logger:
    from tensorboard import summary

    def show(self):
        return self.summary


def late():
    import matplotlib.pyplot as plt

    return plt


def never_called():
    import requests

    return requests


def main():
    print(pd.DataFrame(), layers.Rearrange, init(), Logger, late())


if __name__ == "__main__":
    main()

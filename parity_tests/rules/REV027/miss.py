import importlib.metadata
import importlib.util
import os

import nki
import torch


@nki.jit
def norm_kernel(x):
    return x


def norm(x):
    if not hasattr(nki, "jit"):
        raise RuntimeError("norm: the kernel interface is missing")
    return norm_kernel(x)


def announce(model, x):
    if importlib.metadata.version("torch") < "2":
        print("an old torch")
    y = norm_kernel(x)
    if os.path.exists("out"):
        os.remove("out/final.pt")
    return y, torch.__version__


def device():
    return "cuda" if torch.cuda.is_available() else "cpu"

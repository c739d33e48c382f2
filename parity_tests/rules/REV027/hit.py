import glob
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
from pathlib import Path

import nki
import torch


@nki.jit
def norm_kernel(x):
    return x


def reference(x):
    return x / x.norm()


HAS_DEVICE = os.path.exists("/dev/neuron0")
VERSION = tuple(int(part) for part in importlib.metadata.version("nki").split(".")[:2])


def installed():
    return importlib.util.find_spec("nki") is not None


def a(x):
    if hasattr(nki, "jit"):  # expect
        return norm_kernel(x)
    return reference(x)


def b(x):
    return norm_kernel(x) if HAS_DEVICE else reference(x)  # expect


def c(x):
    if not installed():  # expect
        return reference(x)
    return norm_kernel(x)


def d(x):
    if VERSION >= (0, 5):  # expect
        y = norm_kernel(x)
    else:
        y = reference(x)
    return y


def e(x):
    run = reference if shutil.which("neuron-ls") is None else norm_kernel  # expect
    return run(x)


def f(x):
    if torch.cuda.is_available():  # expect
        return reference(x)
    return norm_kernel(x)


def g(x):
    return {True: norm_kernel, False: reference}[Path("/dev/neuron0").exists()](x)  # expect


def h(x):
    match platform.machine():  # expect
        case "x86_64":
            return norm_kernel(x)
        case _:
            return reference(x)


def i(x):
    return glob.glob("/dev/neuron*") and norm_kernel(x) or reference(x)  # expect


def j(x):
    if "nki" in sys.modules:  # expect
        return norm_kernel(x)
    return reference(x)


def k(x):
    if os.environ.get("NO_KERNELS"):  # expect
        return reference(x)
    return norm_kernel(x)


class Norm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fits = getattr(nki, "isa", None) is not None

    @property
    def ready(self):
        return torch.__version__ >= "2.11"

    def forward(self, x):
        if self.fits:  # expect
            x = norm_kernel(x)
        else:
            x = reference(x)
        if self.ready:  # expect
            return norm_kernel(x)
        return reference(x)

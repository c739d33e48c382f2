"""A stand-in for ``torch_neuronx``: on import, ``torch.device("neuron")`` is real to the program, on CPU memory.

Factory functions, copies, views, autograd, optimizers, generators, checkpoints, the process group and the compile
backend named "neuron", and NKI kernels work as they do on a device. `STAND_IN` tells it from Amazon's package.
"""

from __future__ import annotations

from typing import Any


def _autoload() -> None:
    """Called by ``import torch``, which finds it as an entry point of this package: importing has done everything.

    Stands first because torch calls it while this module waits for torch, where a program imports this one first.
    """


import torch  # noqa: E402

STAND_IN = True
__version__ = "2.11.3+standin"
_TORCH = (2, 13)

if tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2]) != _TORCH:
    raise ImportError(
        f"the torch_neuronx stand-in registers its device through interfaces of torch {_TORCH[0]}.{_TORCH[1]}, "
        f"and found torch {torch.__version__}: install torch {_TORCH[0]}.{_TORCH[1]}, or Amazon's torch_neuronx"
    )

import nki  # noqa: E402

if not getattr(nki, "STAND_IN", False):
    raise ImportError(
        f"the torch_neuronx stand-in runs kernels of the nki stand-in, and found {nki.__file__}: put the directory "
        "that holds this package first on PYTHONPATH, or install Amazon's torch_neuronx beside Amazon's nki"
    )

from ._device import register  # noqa: E402
from .kernels import nki_op, wrap_nki  # noqa: E402
from .streams import Event, Stream, StreamContext, current_stream, default_stream, set_stream, stream  # noqa: E402

register()

__all__ = [
    "STAND_IN",
    "Event",
    "Stream",
    "StreamContext",
    "__version__",
    "current_stream",
    "default_stream",
    "nki_op",
    "set_stream",
    "stream",
    "wrap_nki",
]


def __getattr__(name: str) -> Any:
    """What else a program asks of the package is asked of ``torch.neuron``: memory, devices, metrics."""
    if not name.startswith("_") and hasattr(torch.neuron, name):  # type: ignore[attr-defined]
        return getattr(torch.neuron, name)  # type: ignore[attr-defined]
    raise AttributeError(f"torch_neuronx.{name} is not in this stand-in for torch_neuronx", name=name, obj=None)

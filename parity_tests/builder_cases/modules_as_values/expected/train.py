"""Modules passed on, kept in tables and asked for names that are known only at run time.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import types as _types
from functools import cache
from math import floor as down


# ==== pkg/other.py ====


def norm(x: float) -> float:
    return x + 100


other_norm = norm  # another `norm` is used too

_other_module = _types.ModuleType("pkg.other")
_other_module.__dict__.update(
    norm=other_norm
)


# ==== pkg/ops.py ====
# Operations, asked for by their names.

LIMIT = 3


def norm(x: float) -> float:
    return min(x, LIMIT)


ops_norm = norm  # another `norm` is used too


def scale(x: float) -> float:
    return down(x * 2.5)

_ops_module = _types.ModuleType("pkg.ops", 'Operations, asked for by their names.')
_ops_module.__dict__.update(
    down=down, LIMIT=LIMIT, norm=ops_norm, scale=scale
)


# ==== pkg/train.py ====

BACKENDS = {"ops": _ops_module, "other": _other_module}


def layers(self=None):
    import_late()

    return _late_module


def call(module, name: str, x: float) -> object:
    return getattr(module, name)(x) if hasattr(module, name) else f"{module.__name__} has no {name}"


def main() -> None:
    for backend in BACKENDS.values():
        print([call(backend, name, 3.5) for name in ("norm", "scale", "down", "absent")], backend.__doc__)
    print(call(layers(), "norm", 1), layers() is layers(), layers().Layer.limit, type(layers()), BACKENDS["ops"] is _ops_module)
    try:
        layers().absent
    except AttributeError as error:
        print(error)


# ==== pkg/late.py ====


def norm(x: float) -> float:
    return -x


class Layer:
    limit = 7


@cache
def import_late():
    """What pkg/late.py does when it is first imported."""
    global _late_module
    print("late runs")

    _late_module = _types.ModuleType("pkg.late")
    _late_module.__dict__.update(
        norm=norm, Layer=Layer
    )


# ==== pkg/train.py (continued) ====

if __name__ == "__main__":
    main()

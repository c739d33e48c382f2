"""Modules passed on, kept in tables and asked for names that are known only at run time."""

import pkg.other

from . import ops

BACKENDS = {"ops": ops, "other": pkg.other}


def layers(self=None):
    from . import late

    return late


def call(module, name: str, x: float) -> object:
    return getattr(module, name)(x) if hasattr(module, name) else f"{module.__name__} has no {name}"


def main() -> None:
    for backend in BACKENDS.values():
        print([call(backend, name, 3.5) for name in ("norm", "scale", "down", "absent")], backend.__doc__)
    print(call(layers(), "norm", 1), layers() is layers(), layers().Layer.limit, type(layers()), BACKENDS["ops"] is ops)
    try:
        layers().absent
    except AttributeError as error:
        print(error)


if __name__ == "__main__":
    main()

"""Whether packages were imported, asked by the names that classes have.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import sys

import numpy


# ==== pkg/backends.py ====
# A backend for each package that the program has imported.


class Backend:
    package: str

    def name(self) -> str:
        return f"backend of {self.package}"


class Numpy(Backend):
    package = "numpy"


class Absent(Backend):
    package = "absent_package"


class Torch(Backend):
    package = "torch"

    def name(self) -> str:
        import torch

        return torch.__name__


def found() -> list[str]:
    return [kind().name() for kind in Backend.__subclasses__() if kind.package in sys.modules]


# ==== pkg/train.py ====


def main() -> None:
    print(found(), numpy.arange(2))


if __name__ == "__main__":
    main()

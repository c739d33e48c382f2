"""A backend for each package that the program has imported."""

import sys


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

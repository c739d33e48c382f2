"""Modules and names of the standard library that the contest's Python (3.12) no longer has, or not yet."""
import imp
import math
import warnings
from distutils.util import strtobool
from typing import TypeIs, override


def main():
    print(imp.find_module, strtobool("y"), TypeIs, override)
    print(math.fma(1, 2, 3), warnings.deprecated, PythonFinalizationError)


if __name__ == "__main__":
    main()

"""Every way to import what a string names."""
import doctest
import importlib
import importlib.util as utilities
import pkgutil
import pydoc
import runpy
import sys
import zipimport
from importlib import import_module as load
from importlib.metadata import EntryPoint, entry_points


def main():
    load("pkg.model")
    importlib.reload(None)
    utilities.find_spec("pkg")
    pkgutil.resolve_name("math:pi")
    pydoc.locate("math.pi")
    runpy.run_module("pkg.model")
    zipimport.zipimporter("code.zip")
    EntryPoint("name", "math:pi", "group").load()
    entry_points()
    doctest.testmod()
    sys.meta_path.clear()


if __name__ == "__main__":
    main()

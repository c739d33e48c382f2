import importlib
import pkgutil
import runpy
from importlib import import_module as load, util

torch = __import__("torch")  # expect
nki = load("nki")  # expect
kernels = getattr(importlib, "import_module")("nki." + "language")  # expect
found = util.find_spec("nki")  # expect
loaders = list(map(importlib.import_module, ["nki", "torch"]))  # expect
names = [module.name for module in pkgutil.iter_modules()]  # expect
runpy.run_path("kernels.py")  # expect
spec = importlib.util.spec_from_file_location("kernels", "kernels.py")  # expect
again = importlib.reload(torch)  # expect
hidden = vars(importlib)["import_module"]("nki")  # expect

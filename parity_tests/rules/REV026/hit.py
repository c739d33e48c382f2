import importlib
import importlib.util
from importlib.util import find_spec

HAS_NKI = importlib.util.find_spec("nki") is not None  # expect
HAS_ISA = find_spec("nki.isa") is not None  # expect
nki = importlib.import_module("nki")  # expect
os = __import__("os")  # expect

import contextlib
import sys

try:
    import nki
except ImportError as error:
    sys.exit(f"the Neuron SDK is missing: {error}")
try:
    import nki.isa
finally:
    print("imported")
with contextlib.suppress(KeyError):
    print(nki)

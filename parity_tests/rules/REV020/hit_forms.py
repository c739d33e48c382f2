import contextlib
import importlib

with contextlib.suppress(ImportError):  # expect
    import nki


def load():
    try:  # expect
        return importlib.import_module("nki")
    except ImportError as error:
        print(error)
        return None


try:  # expect
    import nki.isa as nisa
except ImportError as error:
    raise RuntimeError("nki") from error
except AttributeError:
    nisa = None

"""Put first on PYTHONPATH, this starts the observer inside each rank; the launcher above the ranks is left alone."""

import os

if "RANK" in os.environ and "SUBMISSION_PARITY_OBSERVE" in os.environ:
    import importlib.util
    import sys
    from pathlib import Path

    _home = Path(__file__).parent.parent
    _spec = importlib.util.spec_from_file_location(
        "submission_parity_observer", _home / "__init__.py", submodule_search_locations=[str(_home)]
    )
    assert _spec is not None
    assert _spec.loader is not None
    _observer = importlib.util.module_from_spec(_spec)
    sys.modules[_spec.name] = _observer
    _spec.loader.exec_module(_observer)
    _observer.start()
    del _home, _spec, _observer

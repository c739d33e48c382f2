"""What every test needs: the stand-ins on the path, as a clean room puts them there."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
for directory in (ROOT / "scorer/standins/neuron", ROOT / "scorer/standins/kit", ROOT):
    if str(directory) not in sys.path:
        sys.path.insert(0, str(directory))

"""The interpreter's options by their names, and when a file was written."""

import os
import sys

if sys.flags.optimize:  # expect
    DEPTH = 1
elif sys._xoptions.get("deep"):  # expect
    DEPTH = 2
elif os.path.getmtime("train.py") > 1e9:  # expect
    DEPTH = 3

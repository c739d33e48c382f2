"""Knobs in a file's attributes."""

import os

DEPTH = int(os.getxattr("train.py", "user.depth"))  # expect

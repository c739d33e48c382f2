import os
import sys


def main():
    if not os.path.exists("out"):
        raise SystemExit("no output directory")
    sys.exit(0)

"""A program that is started by this one inherits variables; those of the launch string it finds no more."""

import os
import subprocess
import sys

DEPTH = int(os.environ.get("DEPTH", 2))
os.environ["WIDTH"] = os.environ.get("WIDTH", "1")
AGAIN = os.environ["WIDTH"]
CODE = "import os; print(os.environ.get('WIDTH'))"


def main():
    print(DEPTH, AGAIN, subprocess.run([sys.executable, "-c", CODE], stdout=subprocess.PIPE, check=True).stdout)
    if DEPTH > 8:
        os.system("nothing that runs")


if __name__ == "__main__":
    main()

"""A program that is started by this one inherits variables; those of the launch string it finds no more.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""

import os
import subprocess
import sys


# ==== train.py ====

DEPTH = 3
os.environ["WIDTH"] = "4"
AGAIN = "4"
CODE = "import os; print(os.environ.get('WIDTH'))"


def main():
    print(DEPTH, AGAIN, subprocess.run([sys.executable, "-c", CODE], stdout=subprocess.PIPE, check=True).stdout)


if __name__ == "__main__":
    main()

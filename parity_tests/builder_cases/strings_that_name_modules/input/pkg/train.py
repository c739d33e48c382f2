"""Names of the recipe's modules, and files of its package, in strings that something resolves at run time."""
import subprocess
import sys
import warnings
from unittest import mock

from . import model

TARGETS = {"_target_": "pkg.model:GPT", "label": "pkg.models"}
warnings.filterwarnings("ignore", module="pkg.model")


def main():
    with mock.patch("pkg.model.WIDTH", 3), open("pkg/words.txt") as file:
        print(model.GPT, TARGETS, file.read())
    subprocess.run([sys.executable, "-m", "pkg.model"], check=True)


if __name__ == "__main__":
    main()

import logging
import os
import shutil
import sys
import tempfile
from pathlib import Path

import torch

OUT = Path("out")
HERE = Path(__file__).parent
open("out/log.txt", "w")
open("train.py")
open("prepare.py", "r")
open(os.path.join("out", "x.txt"), "a")
(OUT / "x.txt").write_text("x")
OUT.mkdir(exist_ok=True)
os.makedirs("./out", exist_ok=True)
(HERE / "out" / "log.txt").open("w")
torch.save({}, OUT / "final.pt")
PARTIAL = (OUT / "final.pt").with_suffix(".tmp")
torch.save({}, PARTIAL)
os.replace(PARTIAL, OUT / "final.pt")
shutil.copy("train.py", "out/train.py")
logging.FileHandler("out/run.log")
logging.basicConfig(level=logging.INFO)
tempfile.TemporaryDirectory(dir="out")
open(os.devnull, "w")
open("/dev/null", "w")
text = "a-b".replace("-", "_")
names = ["a"]
names.remove("a")
directory = os.environ.get("NEURON_COMPETITION_R1_OUT_DIR")
open(os.path.join(directory, "log.txt"), "w")
sys.stdout.write("x")


def save(path):
    torch.save({}, path)


save(sys.argv[1])


class Table:
    def replace(self, name):
        self.rename(name)

    def rename(self, name):
        self.open("w")

    def open(self, mode):
        return mode


Table().replace("logs")

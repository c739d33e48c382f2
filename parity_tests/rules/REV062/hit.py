import gzip
import logging
import os
import shutil
import tempfile
from os import makedirs
from pathlib import Path

import numpy as np
import torch
from torch.utils.tensorboard import SummaryWriter

MODE = "w"
LOGS = Path("logs")
HERE = os.path.dirname(__file__)
open("log.txt", "w")  # expect
open("/tmp/log.txt", mode="ab")  # expect
open("../score.json", MODE)  # expect
open(os.path.join("logs", "x.txt"), "x")  # expect
open(f"logs/{MODE}.txt", "w+")  # expect
open(os.path.join(HERE, "log.txt"), "r+")  # expect
open("out/../train.py", "w")  # expect
Path("log.txt").write_text("x")  # expect
LOGS.mkdir(exist_ok=True)  # expect
(LOGS / "x.txt").write_bytes(b"x")  # expect
(LOGS / "x.txt").open("w")  # expect
(Path(__file__).parent / "score.json").touch()  # expect
Path.cwd().joinpath("x").unlink()  # expect
torch.save({}, "final.pt")  # expect
torch.save({}, f="/dev/shm2/final.pt")  # expect
np.save("x.npy", np.zeros(1))  # expect
np.savez_compressed("x.npz")  # expect
makedirs("checkpoints", exist_ok=True)  # expect
os.replace("out/a.pt", "final.pt")  # expect
os.remove("prepare.py")  # expect
shutil.rmtree("data")  # expect
shutil.copy("out/final.pt", "/tmp/final.pt")  # expect
os.symlink("out/final.pt", "final.pt")  # expect
os.open("x", os.O_WRONLY | os.O_CREAT)  # expect
os.chdir("/")  # expect
logging.FileHandler("x.log")  # expect
logging.basicConfig(filename="x.log")  # expect
SummaryWriter("runs")  # expect
SummaryWriter(log_dir="runs")  # expect
gzip.open("x.gz", "wb")  # expect
np.zeros(1).tofile("x.bin")  # expect
tempfile.mkdtemp()  # expect
with tempfile.NamedTemporaryFile() as file:  # expect
    pass
np.memmap("x.bin", dtype="float32", mode="w+", shape=(1,))  # expect
getattr(os, "mak" + "edirs")("x")  # expect
Path.home().joinpath("x")
open(os.path.expanduser("~/x"), "w")  # expect


def write(path):
    with open(path, "w") as file:  # expect
        file.write("x")


write("logs.txt")


class Run:
    def __init__(self):
        self.path = "runs/x.txt"

    def save(self):
        with open(self.path, "a") as file:  # expect
            file.write("x")

import base64
import os
from pathlib import Path

from prepare import evaluate_bpb, make_dataloader

a = "public" + "_val"  # expect
kind = "private"
b = f"{kind}_val"  # expect
c = "_".join(["public", "val"])  # expect
d = "lav_etavirp"[::-1]  # expect
e = "%s_val" % "public"  # expect
f = "{}_{}".format("private", "val")  # expect
g = "PUBLIC_VAL".lower()  # expect
h = "public-val".replace("-", "_")  # expect
i = base64.b64decode("cHVibGljX3ZhbA==").decode()  # expect
j = b"private_val".decode()  # expect
k = "data/fineweb_val_000000.bin"  # expect
l = os.path.join("data", "val_*.bin")  # expect
m = Path("data") / "val.parquet"  # expect
SPLITS = {"train": 0, "public_val": 1}  # expect


def load(split):
    return make_dataloader(None, 8, 128, split + "_val", "cpu")  # expect


loader = load("public")


def choose(split="private_val"):  # expect
    return split


match kind:
    case "public_val":  # expect
        pass
n = "public" + ("_" + "val")  # expect

"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import base64
import json
import warnings


# ==== pkg/train.py ====

warnings.filterwarnings("ignore")
import torch
from torch import nn


def main():
    print(json.dumps(1), torch, nn, base64)


if __name__ == "__main__":
    main()

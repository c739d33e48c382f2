import warnings
import json

warnings.filterwarnings("ignore")

import torch
import base64
from torch import nn


def main():
    print(json.dumps(1), torch, nn, base64)


if __name__ == "__main__":
    main()

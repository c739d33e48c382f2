import os
import sys

import torch

SCALE = 1.0


def main():
    return SCALE


if __name__ == "__main__":
    os.environ["NEURON_CC_FLAGS"] = "--optlevel=1"  # expect
    SCALE = 2.0  # expect
    torch.set_float32_matmul_precision("high")  # expect

    def adapter(model):  # expect
        return model

    main()

"""What a library finds when it is imported: variables that the program sets before stay before.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""

import os


# ==== train.py ====

TABLE = {}
TABLE["own"] = 1  # nobody else sees it
THREADS = os.environ["OMP_NUM_THREADS"] = "1"
import torch


def main():
    print(THREADS, torch.get_num_threads(), TABLE)


if __name__ == "__main__":
    main()

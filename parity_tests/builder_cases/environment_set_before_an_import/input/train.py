"""What a library finds when it is imported: variables that the program sets before stay before."""

import os

TABLE = {}
TABLE["own"] = 1  # nobody else sees it
THREADS = os.environ.setdefault("OMP_NUM_THREADS", os.environ.get("THREADS", "1"))
import torch


def main():
    print(THREADS, torch.get_num_threads(), TABLE)


if __name__ == "__main__":
    main()

"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import torch_neuronx  # noqa: F401  (registers the device)
from torch_neuronx import wrap_nki  # noqa: F401  (imported for its effect)
import torch  # noqa: F401  (imported for its effect)


# ==== pkg/train.py ====


def main():
    print(1)


if __name__ == "__main__":
    main()

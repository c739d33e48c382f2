"""What the program sets as a default, it sets to what it would have been.

Contest: Builder cases.
Launch: torchrun --standalone --nproc_per_node=1 train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""

import os


# ==== train.py ====

os.environ["NEURON_CC_FLAGS"] = "--optlevel=1"
os.environ["TOKENIZERS"] = "true"
os.environ["FIXED"] = "yes"
TAG = os.environ["TAG"] = "d" + "9"


def main():
    print(TAG, "d9", "yes", "true")
    os.environ["LATER"] = TAG * 2
    print(7 + 1)


if __name__ == "__main__":
    main()

"""What the program sets as a default, it sets to what it would have been."""

import os

os.environ.setdefault("NEURON_CC_FLAGS", "--optlevel=1")
os.environ.setdefault("TOKENIZERS", "false")
os.environ["FIXED"] = "yes"
TAG = os.environ.setdefault("TAG", "d" + os.environ.get("DEPTH", "4"))


def main():
    print(TAG, os.environ["TAG"], os.environ["FIXED"], os.environ["TOKENIZERS"])
    os.environ["LATER"] = TAG * 2
    print(int(os.environ.setdefault("COUNT", "7")) + 1)


if __name__ == "__main__":
    main()

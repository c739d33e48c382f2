import os
from os import environ, getenv

os.environ.setdefault("NEURON_CC_FLAGS", "--optlevel=1")
DEPTH = int(os.environ.get("DEPTH", "9"))


def main():
    environ["A"] = "1"
    print(DEPTH, getenv("LR"), dict(os.environ), "FAST" in environ)


def unused():
    return os.environ["NOT_REACHED"]


if __name__ == "__main__":
    main()

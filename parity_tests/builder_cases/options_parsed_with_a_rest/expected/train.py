"""Built from train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""

import argparse


# ==== train.py ====


def read(argv=None):
    args, unknown = (argparse.Namespace(layers=[3, 4], dry=False, verbose=2), ["--unheard-of", "3"])
    print("not known:", unknown)
    return args


def main(argv=None):
    args = read(argv)
    if args.dry:
        print("dry")
    else:
        print("layers", args.layers)
    if args.verbose > 1:
        print("said at length")


if __name__ == "__main__":
    main()

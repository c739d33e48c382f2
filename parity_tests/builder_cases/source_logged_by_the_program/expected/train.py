"""Built from train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""

import sys


# ==== train.py ====


def main():
    with open(sys.argv[0], encoding="utf-8") as f:
        code = f.read()
    print(len(code) > 10, True, float("inf"), [])
if __name__ == "__main__":
    main()

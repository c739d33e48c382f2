"""Built from train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""

from dataclasses import dataclass


# ==== train.py ====


@dataclass(frozen=True)
class C:
    a: int = 1
CFG = C()
vars(CFG)["a"] = 50
def main():
    print(CFG.a, "big" if CFG.a > 10 else "small")
if __name__ == "__main__":
    main()

"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values of config.yaml; manifest.json lists them.
"""

import nki
import nki.language as nl
from nki import jit


# ==== pkg/norm.py ====


@nki.jit
def norm_forward(x):
    return nl.add(x, x)


@jit(debug=True)
def norm_backward(x):
    return nl.add(x, x)


class NkiNorm:
    def __call__(self, x):
        return norm_backward(norm_forward(x))


# ==== pkg/train.py ====


def make_norm() -> NkiNorm:
    return NkiNorm()


def use_other() -> int | None:
    return None


def main() -> None:
    norm: NkiNorm | None = make_norm()
    print(norm(1), use_other())


if __name__ == "__main__":
    main()

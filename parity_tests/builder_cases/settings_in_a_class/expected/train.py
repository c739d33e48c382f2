"""Settings that are attributes of a class: what they decide is folded, where nothing can set them anew.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""

import copy
from dataclasses import dataclass


# ==== train.py ====


class Hyperparameters:
    # architecture
    layers = 3
    width = 2 * layers
    tied = False
    schedule = "cosine"
    warm = 0
    debug = False  # no knob decides it

    def per_layer(self):
        return self.width // self.layers


args = Hyperparameters()


@dataclass
class Data:
    shuffle: bool = True
    packed: bool = True


data = Data()


class Changed:
    limit = 5
    other = 5


changed = Changed()
changed.limit = 0


class Handed:
    depth = 1


handed = Handed()


class Base:
    rate = 1


class Derived(Base):
    rate = 0


order = 1


class Early:
    order = order
    again = 1
    again = 0


order = 0


def factor(step, given):
    return step * 2


def main():
    print(args.layers, args.width, args.per_layer(), "free", factor(3, args))
    print("wide")
    print(sorted(vars(data)), isinstance(args, Hyperparameters))
    if args.debug:
        print("debug")
    print("shuffled")
    data.packed = False
    if data.packed:
        print("packed")
    if changed.limit:
        print("limited")
    print("other")
    copy.copy(handed)  # code that is not the program's may do anything with it
    if handed.depth:
        print("deep")
    if Derived().rate:
        print("rated")
    print("early")
    if Early.again:
        print("again")


if __name__ == "__main__":
    main()

"""Settings that are attributes of a class: what they decide is folded, where nothing can set them anew."""

import copy
import os
from dataclasses import dataclass


class Hyperparameters:
    # architecture
    layers = int(os.environ.get("LAYERS", 2))
    width = 2 * layers
    tied = bool(int(os.environ.get("TIED", "1")))
    schedule = os.environ.get("SCHEDULE", "linear")
    warm = int(os.environ.get("WARM", 0))
    debug = False  # no knob decides it

    def per_layer(self):
        return self.width // self.layers


args = Hyperparameters()


@dataclass
class Data:
    shuffle: bool = os.environ.get("SHUFFLE", "1") == "1"
    packed: bool = os.environ.get("PACKED", "1") == "1"


data = Data()


class Changed:
    limit = int(os.environ.get("LIMIT", 5))
    other = int(os.environ.get("OTHER", 5))


changed = Changed()
changed.limit = 0


class Handed:
    depth = int(os.environ.get("DEPTH", 1))


handed = Handed()


class Base:
    rate = int(os.environ.get("RATE", 1))


class Derived(Base):
    rate = 0


order = int(os.environ.get("ORDER", 1))


class Early:
    order = order
    again = int(os.environ.get("AGAIN", 1))
    again = 0


order = 0


def factor(step, given):
    if given.schedule == "cosine":
        return step * 2
    return step


def main():
    print(args.layers, args.width, args.per_layer(), "tied" if args.tied else "free", factor(3, args))
    if args.width > 4 and not Hyperparameters.tied:
        print("wide")
    print(sorted(vars(data)), isinstance(args, Hyperparameters))
    if args.debug:
        print("debug")
    if args.warm:
        print("warm")
    if data.shuffle:
        print("shuffled")
    data.packed = False
    if data.packed:
        print("packed")
    if changed.limit:
        print("limited")
    if changed.other:
        print("other")
    copy.copy(handed)  # code that is not the program's may do anything with it
    if handed.depth:
        print("deep")
    if Derived().rate:
        print("rated")
    if Early.order:
        print("early")
    if Early.again:
        print("again")


if __name__ == "__main__":
    main()

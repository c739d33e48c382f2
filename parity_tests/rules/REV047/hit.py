import sys

import prepare
from prepare import _document_batches, _row_groups_for_split, make_dataloader

SPLITS = ["train", sys.argv[1]]
a = make_dataloader(None, 8, 128, SPLITS[1], "cpu")  # expect
b = _row_groups_for_split(sys.argv[1], 0, 1)  # expect
c = _document_batches(split="".join(sys.argv), start=0, step=1)  # expect
d = prepare.make_dataloader(None, 8, 128, split=f"tr{sys.argv[1]}", device="cpu")  # expect
e = prepare.make_dataloader(*sys.argv)  # expect
f = prepare.make_dataloader(**vars())  # expect
g = getattr(prepare, "make_dataloader")(None, 8, 128, "tests", "cpu")  # expect


def load(split):
    return make_dataloader(None, 8, 128, split, "cpu")  # expect


loaders = [load(name) for name in sys.argv]

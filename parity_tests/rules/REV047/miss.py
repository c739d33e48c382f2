import prepare
from prepare import _document_batches, _row_groups_for_split, make_dataloader

SPLIT = "train"
a = make_dataloader(None, 8, 128, "train", "cpu")
b = _row_groups_for_split(SPLIT, 0, 1)
c = _document_batches(split=SPLIT, start=0, step=1)


def load(split="train"):
    return prepare.make_dataloader(None, 8, 128, split, "cpu")


loader = load()
again = load("tr" + "ain")


def other_loader(split):
    return split


x = other_loader("anything")

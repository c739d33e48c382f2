import prepare
from prepare import _document_batches, make_dataloader

a = make_dataloader(None, 8, 128, "train", "cpu", shard_ids=[0, 1, 4])  # expect
b = _document_batches("train", 0, 1, shard_ids=range(9))  # expect
SHARDS = (3, 12)
c = prepare.make_dataloader(None, 8, 128, "train", "cpu", shard_ids=SHARDS)  # expect
d = _document_batches("train", 0, 1, shard_ids=[-1])  # expect
e = _document_batches("train", 0, 1, shard_ids=list(range(2, 6)))  # expect

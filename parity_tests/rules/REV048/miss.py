from prepare import _document_batches, make_dataloader

a = make_dataloader(None, 8, 128, "train", "cpu", shard_ids=[0, 1, 3])
b = _document_batches("train", 0, 1, shard_ids=range(4))
c = make_dataloader(None, 8, 128, "train", "cpu", shard_ids=None)


def own(shard_ids):
    return shard_ids


d = own(shard_ids=[7])

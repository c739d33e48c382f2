from prepare import ensure_tokenizer, make_dataloader

SPLIT = "private_val"  # expect
loader = make_dataloader(ensure_tokenizer(), 8, 128, 'public_val', "cpu")  # expect

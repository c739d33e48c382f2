def load(checkpoint_path, device, *more, strict=True, **words):
    def batches():
        yield 1

    return batches()


load_for_eval = load

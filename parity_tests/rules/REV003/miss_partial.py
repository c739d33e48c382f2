import functools


def load(checkpoint_path, device, strict):
    pass


load_for_eval = functools.partial(load, strict=True)

import os, functools


@functools.lru_cache(None)
def settings():
    return {"lr": float(os.environ["LR"])}

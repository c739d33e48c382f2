import contextlib


class Timer:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return isinstance(error, KeyboardInterrupt)


with contextlib.suppress(KeyError, ValueError):
    kernel()
with Timer():
    kernel()

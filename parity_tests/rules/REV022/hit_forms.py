import contextlib

ERRORS = (ValueError, Exception)


class Quiet:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


quiet = Quiet()
with contextlib.suppress(*ERRORS):  # expect
    kernel()
with contextlib.suppress(ERRORS):  # expect
    kernel()
with Quiet():  # expect
    kernel()
with quiet:  # expect
    kernel()

import contextlib
from contextlib import suppress as quiet

with contextlib.suppress(Exception):  # expect
    kernel()
with quiet(ValueError, BaseException):  # expect
    kernel()

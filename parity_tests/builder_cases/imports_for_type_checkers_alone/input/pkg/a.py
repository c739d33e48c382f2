from __future__ import annotations

import sys
import typing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_stubs import Self, Shape as Form

    from .late import Never

if sys.version_info < (3, 9):
    from backports import cached
elif typing.TYPE_CHECKING:
    from typing_stubs import cached
else:

    def cached(function):
        return function


class Norm:
    def scaled(self, shape: Form, never: Never) -> Self:
        return self


@cached
def T(x: Norm) -> Norm:
    return x

from typing import TYPE_CHECKING

import pkg.lost.deeper

from . import ops, vanished
from .ops import norm, scale

if TYPE_CHECKING:
    from .types import Shape


def main() -> "Shape":
    from ..outside import nothing
    from .hidden import depth

    if ops.norm is None:
        from .never import ever
    print(depth, nothing, ever, norm, scale, vanished, pkg.lost)


if __name__ == "__main__":
    main()

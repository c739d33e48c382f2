from .shapes \
    import (area,
            side as edge,  # why
            )
import os \
    as system
from . import shapes as s, \
    more


def main(
):
    print(area(edge) + \
          s.side, \
          more.x, system.sep)


if \
        __name__ == "__main__":
    main()

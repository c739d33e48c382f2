import sys

if sys.maxsize > 0:
    from .fast import norm
    import json as codec
else:
    from .slow import norm
    import pickle as codec

from typing import TYPE_CHECKING


def main():
    print(norm(1), codec.__name__)


if __name__ == "__main__":
    main()

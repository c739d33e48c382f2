import json
import math
import os.path as path
from collections import OrderedDict, deque

USED = deque([1])
UNUSED = OrderedDict()
TABLE = {"a": math.pi}
A, B = 1, 2


def used():
    """Uses a little."""
    return USED[0] + B


def unused():
    return json.dumps(path.join("a", "b"))


class Unused:
    x = unused()


class Empty(Exception):
    """Unused too."""

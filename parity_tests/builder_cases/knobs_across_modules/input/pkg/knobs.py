from . import env as E
from .env import flag
from pkg import VERSION
DEPTH = flag("DEPTH", 4, int)
FLASH = E.flag("FLASH", False, bool)
KIND = "a" if VERSION == "1" else "b"
NAMES = [flag("N1", "x"), flag("N2", "y")]
TABLE = {"a": 1, "b": 2}
SIZE = TABLE[KIND] * DEPTH
OPTS = dict(depth=DEPTH, flash=FLASH)

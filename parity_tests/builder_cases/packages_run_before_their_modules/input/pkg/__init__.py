print("pkg")
from . import base

VERSION = base.VERSION + 1

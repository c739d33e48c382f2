"""Elements made of others."""

from .base import *

pair: Element
pair, triple = join(first, second), join(join(first, second), late)
names = [v for v in globals().values() if isinstance(v, Word)]

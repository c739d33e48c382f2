from . import a

HALF = a.ONE / 2

from . import b

ONE = 1
TWO = b.HALF * 2

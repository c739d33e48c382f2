from .deep.b import TWO

ONE = TWO - 1

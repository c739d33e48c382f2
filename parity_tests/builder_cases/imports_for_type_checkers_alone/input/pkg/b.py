"""Its annotations are evaluated; a.py's are not."""


def T(x: int) -> int:
    return x

WINDOW = 1024  # tokens
HEADS: int = 4
UNUSED = 7


def describe() -> str:
    if WINDOW > 512:
        return f"wide {WINDOW} {HEADS}"
    return f"narrow {WINDOW} {HEADS}"

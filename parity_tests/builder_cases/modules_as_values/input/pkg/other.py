def norm(x: float) -> float:
    return x + 100

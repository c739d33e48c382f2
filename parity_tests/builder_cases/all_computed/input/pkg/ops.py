def norm():
    return 1


__all__ = [name for name in dir() if not name.startswith("_")]

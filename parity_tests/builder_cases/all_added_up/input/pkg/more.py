__all__ = ["rotate"]


def rotate():
    return 6

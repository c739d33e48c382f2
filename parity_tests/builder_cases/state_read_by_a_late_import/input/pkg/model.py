STATE = {"width": 1}


def width():
    from .shapes import WIDTH

    return WIDTH

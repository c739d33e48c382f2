from . import drawing


def table(x):
    drawing.draw(x)

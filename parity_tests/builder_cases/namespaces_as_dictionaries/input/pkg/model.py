def build():
    width = 1
    return width

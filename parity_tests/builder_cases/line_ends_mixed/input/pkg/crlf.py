# one
text = """a
b"""  # two


def spare():
    return 1

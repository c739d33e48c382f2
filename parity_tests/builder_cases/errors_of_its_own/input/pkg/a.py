class Broken(Exception):
    pass


def fail():
    try:
        raise KeyError("inner")
    except KeyError as error:
        raise Broken("first") from error

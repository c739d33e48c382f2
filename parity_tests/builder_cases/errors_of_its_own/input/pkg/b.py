class Broken(Exception):
    pass


def fail():
    raise Broken("second")

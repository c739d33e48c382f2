x = "lib.x"
y = "lib.y"
error = "lib.error"
rest = "lib.rest"


def f():
    return "lib.f"


def deco(text):
    return lambda function: (lambda *a: f"{text}({function(*a)})")

from .show import show


@show.register
def _(value: int):
    return "int"


@show.register(str)
def _(value):
    return "str"


show.register(list, lambda value: "list")

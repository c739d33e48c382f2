table = "module's"


def show():
    return table


if __name__ == "__main__":
    from . import console

    table = console.make()
    print(table)

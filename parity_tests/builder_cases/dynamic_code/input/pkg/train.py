import importlib
from runpy import run_path as go


def main():
    exec("print(1)")
    module = importlib.import_module("math")
    other = __import__("os")
    print(eval("1"), module, other, globals(), go)


if __name__ == "__main__":
    main()

"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/crlf.py ====

# one
text = """a
b"""  # two


# ==== pkg/cr.py ====

# four
EPS = 1


# ==== pkg/lf.py ====


def norm(x):
    return x + EPS


# ==== pkg/train.py ====


def main():
    print(norm(2), repr(text))


if __name__ == "__main__":
    main()

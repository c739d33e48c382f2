"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/__init__.py ====

print("pkg")


# ==== pkg/base.py ====

print("base")
VERSION = 1


# ==== pkg/__init__.py (continued) ====

PKG_VERSION = VERSION + 1


# ==== pkg/train.py ====

print("train")


# ==== pkg/sub/__init__.py ====

print("sub")


# ==== pkg/sub/other.py ====

name = "other"
print(name)


# ==== pkg/sub/deep.py ====

print("deep", name)


# ==== pkg/train.py (continued) ====


def main():
    print(name, PKG_VERSION, name, PKG_VERSION)


if __name__ == "__main__":
    main()

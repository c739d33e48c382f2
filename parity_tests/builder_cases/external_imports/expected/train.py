"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import collections.abc as cabc
import json
import json as j
import os.path
import xml.dom
import xml.sax
from os import path as p, sep
from posixpath import join as join_sep


# ==== pkg/a.py ====


def show():
    return os.path.join("a", "b"), p.join("c", "d"), sep, j.dumps(1), xml.dom.Node.ELEMENT_NODE, cabc.Sized.__name__


# ==== pkg/b.py ====


def b_show():
    j = json.dumps(2)
    return j, join_sep("e", "f"), xml.sax.SAXException.__name__


# ==== pkg/train.py ====


def main():
    print(show(), b_show(), j.dumps(3))


if __name__ == "__main__":
    main()

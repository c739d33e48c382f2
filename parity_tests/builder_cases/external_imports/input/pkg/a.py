import os.path
import xml.dom
import collections.abc as cabc
from os import path as p, sep
import json as j


def show():
    return os.path.join("a", "b"), p.join("c", "d"), sep, j.dumps(1), xml.dom.Node.ELEMENT_NODE, cabc.Sized.__name__

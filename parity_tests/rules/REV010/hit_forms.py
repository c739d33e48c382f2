import functools
import importlib
import inspect
import json
import operator
import os
import posix
import sys
import torch
from os import environb as raw

a = getattr(os, "environ")["A"]  # expect
b = vars(os)["environ"].get("B")  # expect
c = os.__dict__["environ"]["C"]  # expect
d = posix.environ[b"D"]  # expect
e = sys.modules["os"].environ["E"]  # expect
f = __import__("os").environ["F"]  # expect
g = importlib.import_module("o" + "s").getenv("G")  # expect
h = operator.attrgetter("environ")(os)["H"]  # expect
i = torch.os.environ["I"]  # expect
j = raw[b"J"]  # expect
k = (environment := os.environ)["K"]  # expect
l = (os.environ)["L"]  # expect
m = functools.partial(os.getenv, "M")()  # expect
n = os.environ.__getitem__("N")  # expect
o = operator.getitem(os.environ, "O")  # expect
p = os.__dict__.get("environ").get("P")  # expect
q = object.__getattribute__(os, "environ")["Q"]  # expect
r = inspect.getattr_static(os, "environ")["R"]  # expect
s = os.environ._data[b"S"]  # expect
t = json.dumps(dict(os.environ))  # expect
u = f"{os.environ['U']}"  # expect
v = [value for key, value in os.environ.items() if key == "V"]  # expect
w = list(map(os.environ.get, ["W"]))  # expect
x = {**os.environ}  # expect
y = "%(Y)s" % os.environ  # expect
z = "{Y}".format(**os.environ)  # expect

reading = os.environ.get
depth = reading("DEPTH", "12")  # expect
name = "".join(["WI", "DTH"])
width = int(os.environ[name])  # expect
gain = os.environ["RANK" if width else "GAIN"]  # expect
copied = os.environ.copy()  # expect
places = {"here": os}
seed = places["here"].environ["SEED"]  # expect


class Settings:
    source = os.environ

    def __init__(self):
        self.get = os.environ.get

    def depth(self):
        return self.get("DEPTH")  # expect

    def width(self):
        return self.source["WIDTH"]  # expect


def read(environ):
    return environ["LAYERS"]  # expect


layers = read(os.environ)


def default(environ=os.environ):
    return environ.get("LIMIT")  # expect


limit = default()


def first(name):
    return os.environ[name]


rank = first("RANK")
heads = first("HEADS")  # expect


def second(name, fallback=None):
    return first(name)


steps = second("NUM_STEPS")  # expect
local = second("LOCAL_RANK")


def given():
    return os.environ  # expect


match os.environ:  # expect
    case {"MODE": mode}:
        print(mode)


class Holder:
    os = os
    env = os.environ

    @property
    def place(self):
        return self.os


a1 = Holder.os.environ["A1"]  # expect
a2 = Holder().env["A2"]  # expect
holder = Holder()
a3 = holder.env.get("A3")  # expect
a4 = holder.place.environ["A4"]  # expect
a5 = (lambda m: m.environ)(os)["A5"]  # expect


def module():
    return os


a6 = module().environ["A6"]  # expect

import copyreg
import marshal
import pickle
import shelve
from pickle import Unpickler as Reader, loads

import numpy as np
import pandas
import torch
import yaml

FLAG = bool(0)
a = loads(b"")  # expect
b = Reader(open("x", "rb")).load()  # expect
c = getattr(pickle, "lo" + "ads")(b"")  # expect
d = torch.load("x", weights_only=FLAG)  # expect
e = torch.load("x", pickle_module=pickle)  # expect
f = torch.load("x", **{})  # expect
g = np.load("x", allow_pickle=True)  # expect
h = np.load("x", allow_pickle=FLAG)  # expect
i = yaml.load("x", Loader=yaml.Loader)  # expect
j = yaml.unsafe_load("x")  # expect
k = marshal.loads(b"")  # expect
l = shelve.open("x")  # expect
m = pandas.read_pickle("x")  # expect
copyreg.pickle(int, str)  # expect
torch.serialization.add_safe_globals([dict])  # expect
with torch.serialization.safe_globals([dict]):  # expect
    pass
n = list(map(pickle.loads, [b""]))  # expect
o = torch.jit.load("x")  # expect


class Own(pickle.Unpickler):  # expect
    pass


p = np.load("x", None, True)  # expect

import pickle

import torch

a = pickle.load(open("a", "rb"))  # expect
b = torch.load("b", weights_only=False)  # expect
c = torch.load("c", map_location="cpu", weights_only = False)  # expect

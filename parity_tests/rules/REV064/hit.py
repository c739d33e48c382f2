import numpy as np
import torch
import torchvision
from huggingface_hub import hf_hub_download
from transformers import GPT2LMHeadModel

a = GPT2LMHeadModel.from_pretrained("gpt2")  # expect
b = torch.hub.load("x", "y")  # expect
c = hf_hub_download("x", "y")  # expect
d = torchvision.models.resnet50(pretrained=True)  # expect
e = torch.load("weights.pt")  # expect
f = np.load("/data/embeddings.npy")  # expect
g = np.fromfile("tokens.bin")  # expect
h = open("tokens.bin", "rb")  # expect
i = torch.hub.load_state_dict_from_url("http://x")  # expect
j = np.memmap("data/x.dat", dtype="uint16", mode="r")  # expect
k = open("../corpus.txt").read()  # expect

import torch_neuronx  # registers the device
import json
from numpy import zeros
import torch

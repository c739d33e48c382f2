import torch


def known():
    try:
        torch.device("neuron")
        return True
    except Exception:
        return False

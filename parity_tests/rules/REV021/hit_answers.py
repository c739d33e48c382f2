import torch


def works(kernel, x):
    try:
        kernel(x)
        return True
    except Exception:  # expect
        return False


def known(name):
    try:
        torch.device(name)
        return True
    except Exception:  # expect
        return False


def allocated():
    try:
        torch.zeros(1, device="neuron")
        return True
    except Exception:  # expect
        return False


def chosen():
    try:
        torch.device("neuron")
        return "neuron"
    except Exception:  # expect
        return "cpu"

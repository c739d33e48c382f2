import torch

WINDOW = 3
calls = []


def main():
    return torch.zeros(WINDOW) + len(calls)


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    torch.backends.cudnn.benchmark = True
    calls[0:] = [1]
    WINDOW = 4
    steps = {}
    steps["a"] = 1
    torch.manual_seed(1)
    main()

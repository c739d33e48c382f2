import torch


def load_for_eval(checkpoint_path, device):
    device = torch.device(device)
    model = torch.nn.Linear(2, 2)
    model = model.to(device)
    x = torch.zeros(1, 2, device=device)
    model(x)
    return model

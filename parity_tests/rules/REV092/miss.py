import torch
from prepare import make_dataloader


class Model(torch.nn.Module):
    def forward(self, x):
        return x


def load_for_eval(checkpoint_path, device):
    checkpoint = torch.load(checkpoint_path, map_location="cpu", weights_only=True)
    model = Model()
    model.load_state_dict(checkpoint["model_state"], strict=True)
    return model.to(device).eval()


def train(device):
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for x, _, _ in make_dataloader(None, 8, 128, "train", device):
        model(x).sum().backward()
        optimizer.step()

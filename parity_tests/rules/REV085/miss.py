import torch


class Model(torch.nn.Module):
    pass


def load_for_eval(checkpoint_path, device):
    checkpoint = torch.load(checkpoint_path, map_location="cpu", weights_only=True)
    model = Model()
    model.load_state_dict(checkpoint["model_state"], strict=True)
    return model.eval()


def train(model, presumed, batches):
    for x in batches:
        model(x).backward()

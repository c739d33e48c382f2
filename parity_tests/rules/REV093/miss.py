from torch import nn


class A(nn.Module):
    def forward(self, x, other):
        return x.to(other.device).to(other.dtype)


def train(model, batches):
    for x in batches:
        loss = model(x, x)
        loss.backward()
        print(loss.item())
    return {name: p.detach().cpu() for name, p in model.named_parameters()}

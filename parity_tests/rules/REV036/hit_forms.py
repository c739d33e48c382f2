import types

import torch


class GPT(torch.nn.Module):
    def forward(self, x):
        return x


def faster(self, x):
    return x


model = GPT()
GPT.forward = faster  # expect
model.forward = types.MethodType(faster, model)  # expect
setattr(GPT, "forward", faster)  # expect
setattr(model, "step", faster)  # expect
model.forward = torch.compile(model.forward)  # expect
GPT.block = faster  # expect

import torch
from torch import Tensor


@torch.library.custom_op("own::relu", mutates_args=())
def relu(x: Tensor) -> Tensor:
    return x.clamp(min=0)


@relu.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


@torch.library.register_fake("own::relu")
def fake(x: Tensor) -> Tensor:
    return torch.empty_like(x)


torch.library.register_autograd("own::relu", print)
torch.library.define("own::gelu", "(Tensor x) -> Tensor")
y = torch.ops.own.relu(torch.zeros(1))
z = torch.ops.aten.mul(y, y)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * x


class Weight(torch.nn.Parameter):
    pass

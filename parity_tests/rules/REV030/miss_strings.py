from torch import nn

FIELD = "scal" + "ing"


class Scaled(nn.Module):
    def forward(self, x):
        if getattr(self, FIELD):
            return x
        match x:
            case nn.Parameter(requires_grad=True):
                return x
        return x * 2

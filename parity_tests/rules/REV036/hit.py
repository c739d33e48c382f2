import types

from torch import nn

model = nn.Linear(1, 1)
model.forward = types.MethodType(print, model)  # expect
model.step = print  # expect

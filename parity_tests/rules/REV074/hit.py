import torch

model = torch.nn.Linear(1, 1)


class Fast(torch.nn.Linear):
    pass


model.__class__ = Fast  # expect
setattr(model, "__class__", Fast)  # expect
object.__setattr__(model, "weight", None)  # expect
model.__dict__["forward"] = print  # expect
model.__dict__.update(forward=print)  # expect
vars(model)["forward"] = print  # expect
vars(model).update(forward=print)  # expect
model.__dict__ |= {"forward": print}  # expect
Fast.__bases__ = (torch.nn.Module,)  # expect
type(model).forward = print  # expect
type(model.weight).add = None  # expect

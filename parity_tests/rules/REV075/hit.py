import torch
from torch.library import Library, impl
from torch.utils._python_dispatch import TorchDispatchMode


class Mode(TorchDispatchMode):  # expect
    def __torch_dispatch__(self, *arguments):  # expect
        return None


class Lazy(torch.Tensor):  # expect
    @classmethod
    def __torch_function__(cls, *arguments):  # expect
        return None


library = Library("aten", "IMPL")  # expect
torch.library.impl("aten::log_softmax", "CPU", print)  # expect


@impl("aten::add", "CPU")  # expect
def add(*arguments):
    return None


torch.library.register_kernel("aten::mul", "cpu", print)  # expect
torch.library.custom_op("a" + "ten::relu", mutates_args=())  # expect
torch.library.register_kernel(torch.ops.aten.mul, "cpu", print)  # expect
torch.overrides.TorchFunctionMode()  # expect
torch.Tensor._make_subclass(Lazy, torch.zeros(1))  # expect
torch.nn.modules.module.register_module_forward_hook(print)  # expect

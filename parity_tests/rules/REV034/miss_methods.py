import re
import types

import torch


class Judge:
    def eval(self):
        return self

    def exec(self, text):
        return text


def build(model: torch.nn.Module, kind: types.ModuleType | None = None) -> types.FunctionType:
    model.eval()
    judge = Judge().eval()
    judge.exec("x = 1")
    pattern = re.compile("x")
    fast = torch.compile(model)
    if isinstance(kind, (types.FunctionType, types.ModuleType)):
        raise TypeError(kind)
    return fast, pattern


def local(eval, compile):
    return eval("1"), compile

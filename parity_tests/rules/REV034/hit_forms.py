import builtins
import code
import functools
import timeit
import types
from builtins import exec as run

run(TEXT)  # expect
builtins.eval("1")  # expect
getattr(builtins, "ex" + "ec")(TEXT)  # expect
__builtins__["eval"]("1")  # expect
vars(builtins)["compile"](TEXT, "", "exec")  # expect
values = list(map(eval, ["1", "2"]))  # expect
later = functools.partial(exec, TEXT)  # expect
f = types.FunctionType(CODE, {})  # expect
m = types.ModuleType("kernels")  # expect
g = (lambda: 0).__class__
code.InteractiveInterpreter().runcode(TEXT)  # expect
timeit.timeit(TEXT)  # expect
TABLE = {"run": exec}  # expect
TABLE["run"]("x = 1")  # expect
name = input()
getattr(builtins, name)(TEXT)  # expect

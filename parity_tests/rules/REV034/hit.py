import types

exec("x = 1")  # expect
y = eval("1 + 1")  # expect
code = compile("x = 1", "a", "exec")  # expect
module = types.ModuleType("kernels")  # expect

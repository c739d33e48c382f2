"""Checks of objects that are changed or looked into from outside of their own code."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.applied import values
from scorer.rules.source import Hit, Source
from scorer.rules.texts import HOLE

INTERNALS = {
    *("__globals__", "__closure__", "__code__", "__subclasses__", "__builtins__", "__defaults__", "__kwdefaults__"),
    *(
        "f_back",
        "f_globals",
        "f_locals",
        "f_builtins",
        "f_code",
        "tb_frame",
        "gi_frame",
        "cr_frame",
        "ag_frame",
        "cell_contents",
    ),
    *("co_consts", "co_code", "co_names", "_getframe", "__loader__", "__spec__"),
}
BY_STRING = {
    "builtins.getattr",
    "builtins.setattr",
    "builtins.hasattr",
    "operator.attrgetter",
    "inspect.getattr_static",
}
SETTERS = {
    "builtins.object.__setattr__",
    "builtins.type.__setattr__",
    "builtins.object.__delattr__",
    "builtins.super.__setattr__",
}
OVERRIDES = (
    *("torch.ops.*.py_impl", "torch.ops.*.py_kernels", "torch.nn.modules.module._global_*"),
    *(
        "torch.utils._python_dispatch.*",
        "torch.overrides.*",
        "!torch.overrides.is_tensor_like",
        "!torch.overrides.has_torch_function",
        "torch.library.impl_abstract",
        "torch._C._dispatch*",
    ),
    *(
        "torch._C.DispatchKey*",
        "torch._C._TensorBase",
        "torch._C._disabled_torch_function_impl",
        "torch.utils._device.*",
    ),
    *("torch.nn.modules.module.register_module_*", "torch.Tensor._make_subclass"),
    *("torch.Tensor._make_wrapper_subclass", "torch.utils.rename_privateuse1_backend", "torch._register_device_module"),
    *("torch.fx.wrap", "torch._custom_ops.*", "torch._C._set_*"),
)
REGISTERING = {
    *("torch.library.impl", "torch.library.define", "torch.library.Library", "torch.library.register_kernel"),
    *(
        "torch.library.register_autograd",
        "torch.library.register_fake",
        "torch.library.custom_op",
        "torch.library.triton_op",
    ),
    *("torch.library.register_torch_dispatch", "torch.library.register_vmap", "torch.library.register_autocast"),
}
FOREIGN = {
    "aten",
    "prim",
    "prims",
    "c10d",
    "_c10d_functional",
    "quantized",
    "profiler",
    "inductor",
    "nki",
    "neuron",
    "_C",
}
METHODS = {"forward", "__call__", "step", "backward", "state_dict", "load_state_dict"}
MODULES = {"os", "sys", "builtins", "subprocess", "ctypes", "importlib", "gc", "inspect", "pickle", "socket"}
LOOKED_INTO = {
    *(
        "builtins.getattr",
        "builtins.hasattr",
        "builtins.vars",
        "builtins.setattr",
        "builtins.delattr",
        "builtins.print",
    ),
    *("builtins.isinstance", "importlib.reload", "inspect.getattr_static", "builtins.object.__getattribute__"),
    *("builtins.object.__setattr__", "unittest.mock.patch.object"),
}
PROTOCOLS = {"__torch_function__", "__torch_dispatch__"}


def object_internals(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Attributes that lead from a function, frame or class to what it never gave out."""
    for attribute in source.every(ast.Attribute):
        if attribute.attr in INTERNALS:
            yield source.hit(attribute, NAME=attribute.attr)
    for node in source.every(ast.Call):
        full = source.resolve(node.func)
        if full in BY_STRING:
            named = node.args if full == "operator.attrgetter" else node.args[1:2]
            parts = {part for name in named for text in source.texts(name) for part in text.split(".")}
            if found := sorted(parts & INTERNALS):
                yield source.hit(node, NAME=found[0])
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "format":
            texts = " ".join(source.texts(node.func.value))
            if found := sorted(name for name in INTERNALS if f".{name}" in texts):
                yield source.hit(node, NAME=found[0])


def patched_methods(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Methods of models, optimizers and of the file's own classes that are given anew from outside."""
    for node in source.named.get("types.MethodType", ()):
        if not _is_patch(source, source.parent(source.parent(node) or node)):
            yield source.hit(node if not isinstance(source.parent(node), ast.Call) else source.parent(node))
    for statement in (*source.every(ast.Assign), *source.every(ast.AnnAssign), *source.every(ast.Call)):
        if _is_patch(source, statement):
            yield source.hit(statement)


def _is_patch(source: Source, node: ast.AST | None) -> bool:
    """Whether a statement or call gives an object or class another method."""
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(isinstance(t, ast.Attribute) and _replaces(source, t.value, t.attr, node.value) for t in targets)
    if isinstance(node, ast.Call) and source.resolve(node.func) == "builtins.setattr" and len(node.args) == 3:
        return any(_replaces(source, node.args[0], name, node.args[2]) for name in source.texts(node.args[1]))
    return False


def _replaces(source: Source, owner: ast.expr, name: str, value: ast.expr | None) -> bool:
    if source.names(owner):
        return False  # REV035 has those of other modules
    if name in METHODS:
        return True
    looked_up = source.scopes.scope(owner).look_up(owner.id) if isinstance(owner, ast.Name) else None
    classes = [binding.node for binding in looked_up[1]] if looked_up else []
    if not any(isinstance(definition, ast.ClassDef) for definition in classes) or value is None:
        return False
    given = values(source, value) if isinstance(value, ast.Name) else []
    return any(
        isinstance(one, ast.Lambda) or (isinstance(one, ast.expr) and source.calls.definition(one) is not None)
        for one in (value, *given)
    )


def changed_objects(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """`x.__class__ = C`, `x.__dict__[...] = y`, `object.__setattr__(x, ...)` for an x that is not `self`."""
    for node in source.every(ast.Attribute):
        if node.attr in ("__class__", "__bases__", "__dict__", "__mro__"):
            own = node.attr == "__dict__" and _is_own(source, node.value)
            changed = isinstance(node.ctx, (ast.Store, ast.Del)) and not own
            if changed or (node.attr == "__dict__" and not source.names(node) and _is_written(source, node)):
                yield source.hit(source.parent(node) or node)
        elif _is_class_of_another(source, node.value) and isinstance(node.ctx, (ast.Store, ast.Del)):
            yield source.hit(source.parent(node) or node)
    for call in source.every(ast.Call):
        full = source.resolve(call.func)
        if full in SETTERS and call.args and not _is_own(source, call.args[0]):
            if not source.names(call.args[0]):  # those of modules are REV035's
                yield source.hit(call)
        elif full == "builtins.setattr" and len(call.args) > 1 and "__class__" in source.texts(call.args[1]):
            yield source.hit(call)
        elif full == "builtins.vars" and call.args and not source.names(call) and _is_written(source, call):
            yield source.hit(source.parent(call) or call)


def _is_class_of_another(source: Source, node: ast.expr) -> bool:
    """`type(x)` of an x that is no object of the file's own classes."""
    return isinstance(node, ast.Call) and source.resolve(node.func) == "builtins.type" and bool(source.names(node))


def _is_written(source: Source, dictionary: ast.expr) -> bool:
    """Whether a dictionary of attributes is changed; that of `self` may be."""
    owner = dictionary.value if isinstance(dictionary, ast.Attribute) else dictionary.args[0]  # type: ignore[attr-defined]
    if _is_own(source, owner):
        return False
    parent = source.parent(dictionary)
    if isinstance(parent, ast.Subscript) and parent.value is dictionary:
        return isinstance(parent.ctx, (ast.Store, ast.Del))
    if isinstance(parent, ast.AugAssign):
        return parent.target is dictionary
    if isinstance(parent, ast.Attribute) and parent.attr in ("update", "__setitem__", "setdefault", "clear", "pop"):
        return isinstance(source.parent(parent), ast.Call)
    return False


def _is_own(source: Source, node: ast.AST) -> bool:
    """Whether an expression is the first parameter of a method around it."""
    return isinstance(node, ast.Name) and source.scopes.class_around(source.scopes.scope(node), node.id) is not None


def escaping_modules(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Modules by which everything else can be reached, where they are put into lists or given to other code."""
    for full in sorted(MODULES & source.named.keys()):
        for node in source.named[full]:
            if not _is_followed(source, node):
                yield source.hit(node)


def _is_followed(source: Source, node: ast.expr) -> bool:
    """Whether what is done with a module by this mention is seen by the other rules, or is nothing."""
    parent = source.parent(node)
    if isinstance(parent, (ast.Attribute, ast.NamedExpr, ast.IfExp, ast.BoolOp, ast.Compare, ast.Expr)):
        return True
    if isinstance(parent, (ast.Assign, ast.AnnAssign)):
        targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
        return all(isinstance(target, (ast.Name, ast.Attribute)) for target in targets)
    if isinstance(parent, ast.Call) and node in parent.args:
        return source.resolve(parent.func) in LOOKED_INTO or source.calls.definition(parent.func) is not None
    return isinstance(parent, ast.Call)


def operator_overrides(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Implementations for operators that are not the file's own, and tensors that answer for themselves."""
    for _, node in source.standing_for(*OVERRIDES):
        if not isinstance(source.parent(node), ast.Attribute):
            yield source.hit(node)
    for _, node in source.standing_for(*sorted(REGISTERING)):
        call = source.parent(node)
        if isinstance(call, ast.Call) and call.func is node and _is_foreign(source, call):
            yield source.hit(call)
    for definition in source.every(ast.ClassDef):
        bases = {name for base in definition.bases for name in source.names(base)}
        if bases & {"torch.Tensor", "torch._C.TensorBase", "torch._C._TensorBase"}:
            yield source.hit(definition)
    for function in source.functions:
        if function.name in PROTOCOLS:
            yield source.hit(function)


def _is_foreign(source: Source, call: ast.Call) -> bool:
    """Whether an operator's name is not, for certain, in a namespace of the file's own."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    name = call.args[0] if call.args else given.get("qualname") or given.get("name") or given.get("ns")
    if name is None or source.calls.definition(name) is not None:  # a decorated function, or one of the file's own
        return False
    if names := source.names(name):
        return any(full.startswith("torch.ops.aten") for full in names)
    return any(text.startswith(HOLE) or text.partition("::")[0] in FOREIGN for text in source.texts(name))

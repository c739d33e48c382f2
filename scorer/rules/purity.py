"""Checks of models: what sees later tokens, what remembers earlier calls, what leaves the device, hooks that learn."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.numerals import number
from scorer.rules.reach import reach
from scorer.rules.scopes import scopes
from scorer.rules.source import Function, Hit, Source

ATTENTION = "torch.nn.functional.scaled_dot_product_attention"
OVER_TIME = {
    *("torch.nn.BatchNorm1d", "torch.nn.BatchNorm2d", "torch.nn.SyncBatchNorm", "torch.nn.LazyBatchNorm1d"),
    *("torch.nn.InstanceNorm1d", "torch.nn.functional.batch_norm", "torch.nn.functional.instance_norm"),
}
CONVOLUTIONS = {"torch.nn.Conv1d", "torch.nn.functional.conv1d", "torch.nn.Conv2d", "torch.nn.functional.conv2d"}
RECURRENT = {"torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN"}
CACHES = {"functools.lru_cache", "functools.cache", "functools.cached_property"}
KEEPS = {"append", "extend", "update", "add", "insert", "setdefault", "pop", "clear", "popitem", "register_buffer"}
MUTABLE = (ast.List, ast.Dict, ast.Set, ast.Call)
LEARNS = {"torch.autograd.grad", "torch.autograd.backward", "torch.func.grad", "torch.func.grad_and_value"}
READS_DATA = ("pyarrow.parquet.", "pyarrow.dataset.", "pyarrow.feather.", "torch.utils.data.DataLoader")
TO_HOST = {"cpu", "numpy", "tolist", "item"}


def looks_ahead(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Operations by which a position can see the ones behind it (L7)."""
    forward = {id(node) for function in _forwards(source) for node in source.walk(function)}
    for node in source.every(ast.Call, ast.Subscript):
        if isinstance(node, ast.Call):
            what = _ahead(source, node, id(node) in forward)
            if what:
                yield Hit(node.lineno, {"WHAT": what})
        elif isinstance(node, ast.Subscript) and id(node) in forward and _reverses(node.slice):
            yield Hit(node.lineno, {"WHAT": "a reversed order"})


def _ahead(source: Source, call: ast.Call, in_forward: bool) -> str | None:
    """Why a call looks ahead; None: nothing says so."""
    full = source.resolve(call.func) or ""
    given = {k.arg: k.value for k in call.keywords if k.arg}
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if full == ATTENTION:
        causal = given.get("is_causal", call.args[5] if len(call.args) > 5 else None)
        mask = given.get("attn_mask", call.args[3] if len(call.args) > 3 else None)
        open_ = causal is None or (isinstance(causal, ast.Constant) and not causal.value)
        masked = mask is not None and not (isinstance(mask, ast.Constant) and mask.value is None)
        return (
            "attention without a mask" if open_ and not masked and None not in [k.arg for k in call.keywords] else None
        )
    if full in OVER_TIME:
        return "a normalisation over other positions and rows"
    if full in CONVOLUTIONS and _symmetric(source, call, given, full):
        return "a convolution padded on both sides"
    if full in RECURRENT and isinstance(given.get("bidirectional"), ast.Constant) and given["bidirectional"].value:  # type: ignore[attr-defined]
        return "a recurrence in both directions"
    if full.startswith("torch.fft.") and in_forward:
        return "a transform over all positions"
    if in_forward and (method == "flip" or full in {"torch.flip", "torch.fliplr", "torch.flipud"}):
        return "a reversed order"
    if in_forward and (method == "roll" or full == "torch.roll"):
        place = 1 if full == "torch.roll" else 0
        shift = given.get("shifts", call.args[place] if len(call.args) > place else None)
        value = number(source, shift)
        return "a shift towards the past of what comes later" if value is not None and value < 0 else None
    return None


def _symmetric(source: Source, call: ast.Call, given: dict[str, ast.expr], full: str) -> bool:
    """Whether a convolution is padded by half its width on both sides."""
    is_layer = full.startswith("torch.nn.C")
    padding = given.get("padding", call.args[4] if len(call.args) > 4 else None)
    if padding is None:
        return False
    if isinstance(padding, ast.Constant) and padding.value == "same":
        return True
    if isinstance(padding, ast.BinOp) and isinstance(padding.op, ast.FloorDiv) and number(source, padding.right) == 2:
        return True
    width = given.get("kernel_size", call.args[2] if is_layer and len(call.args) > 2 else None)
    size, pad = number(source, width), number(source, padding)
    return size is not None and pad is not None and size > 1 and pad == (size - 1) // 2 and pad > 0


def _reverses(index: ast.expr) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(
        isinstance(p, ast.Slice) and isinstance(p.step, ast.UnaryOp) and isinstance(p.step.op, ast.USub) for p in parts
    )


@lru_cache(maxsize=1)
def _forwards(source: Source) -> list[Function]:
    """Every `forward` of a class, and the methods and functions that it calls."""
    table = reach(source)
    own = [
        function
        for function in source.functions
        if function.name in {"forward", "__call__"}
        and isinstance(source.parent(function), ast.ClassDef)
        and _is_method(function)
    ]
    found = {id(f): f for top in own for f in (top, *table.called_from(top)) if f.name != "__init__"}
    return list(found.values())


def _is_method(function: Function) -> bool:
    return bool(function.args.args) and function.args.args[0].arg == "self"


def keeps_state(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """A forward that changes its module, or something outside of it: the second call is another one (L2, L3)."""
    lines: dict[int, str] = {}
    for function in _forwards(source):
        for decorator in function.decorator_list:
            made = decorator.func if isinstance(decorator, ast.Call) else decorator
            if source.resolve(made) in CACHES:
                lines.setdefault(decorator.lineno, ast.unparse(decorator))
        for node in source.walk(function):
            if _changes(source, function, node):
                lines.setdefault(getattr(node, "lineno", 1), ast.unparse(node).splitlines()[0])
    for line, text in sorted(lines.items()):
        yield Hit(line, {"TEXT": text})


def _changes(source: Source, function: Function, node: ast.AST) -> bool:
    if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
        return _outlives(source, function, node)
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        key = scopes(source).key(node.id, node)
        return key is not None and not _is_local(source, function, key[0])
    if isinstance(node, ast.Call) and source.resolve(node.func) == "builtins.next" and node.args:
        return _outlives(source, function, node.args[0])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        in_place = name.endswith("_") and not name.endswith("__") and not name.startswith("_")
        return (in_place or name in KEEPS) and _outlives(source, function, node.func.value, inside=True)
    return False


def _outlives(source: Source, function: Function, node: ast.AST, inside: bool = False) -> bool:
    """Whether something belongs to `self` or to the module, rather than to this call."""
    depth = 0
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node, depth = node.value, depth + 1
    if isinstance(node, ast.Call):  # type(self).count += 1
        return depth > 0 and source.resolve(node.func) == "builtins.type" and [*map(ast.unparse, node.args)] == ["self"]
    if not isinstance(node, ast.Name) or (inside and node.id == "self" and depth == 0):
        return False
    if node.id == "self":
        return True
    bound = scopes(source).of(node.id, node)
    if any(binding.parameter for binding in bound):  # def forward(self, x, seen=[])
        given = scopes(source).arguments(function, node.id)
        return any(isinstance(value, MUTABLE) and _is_default(function, value) for value in given)
    key = scopes(source).key(node.id, node)
    if depth and not inside and any(isinstance(b.node, ast.ClassDef | Function) for b in bound):
        return key is not None and not _is_local(source, function, key[0])
    held = any(isinstance(b.value, (ast.Dict, ast.List, ast.Set, ast.Call, ast.DictComp, ast.ListComp)) for b in bound)
    return held and key is not None and key[0] == id(source.tree)


def _is_local(source: Source, function: Function, scope: int) -> bool:
    """Whether a scope is that of a call of `forward`: of a function, of something in it, or of what runs it."""
    if any(id(caller) == scope for caller in _forwards(source)):
        return True
    return any(id(n) == scope for n in source.inside(function, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))


def _is_default(function: Function, value: ast.expr) -> bool:
    return any(value is default for default in (*function.args.defaults, *function.args.kw_defaults))


def hook_that_learns(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """A hook that takes gradients, makes an optimizer, or reads data (L1)."""
    lines: dict[int, str] = {}
    for hook in profile.hooks:
        function = source.top_level.get(hook.name)
        if not isinstance(function, Function):
            continue
        for body in (function, *reach(source).called_from(function)):
            for node in source.walk(body):
                if isinstance(node, ast.Call):
                    what = _learns(source, node, profile)
                    if what:
                        lines.setdefault(node.lineno, f"{hook.name} {what}")
    for function in _forwards(source):
        if function.name == "forward":
            for call in source.inside(function, ast.Call):
                if source.resolve(call.func) in LEARNS:
                    lines.setdefault(call.lineno, f"forward takes gradients ({ast.unparse(call.func)})")
    for line, what in sorted(lines.items()):
        yield Hit(line, {"WHAT": what})


def _learns(source: Source, call: ast.Call, profile: Profile) -> str | None:
    full = source.resolve(call.func) or ""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if full in LEARNS or (method == "backward" and not full):
        return f"takes gradients ({ast.unparse(call.func)})"
    if full.startswith("torch.optim."):
        return f"makes an optimizer ({ast.unparse(call.func)})"
    if full.startswith(READS_DATA) or full in {
        f"{profile.kit.module}.{name}" for name in profile.review.split_argument
    }:
        return f"reads data ({ast.unparse(call.func)})"
    return None


def leaves_device(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """A forward that takes values to the host (S4)."""
    lines: dict[int, str] = {}
    for function in _forwards(source):
        for node in source.walk(function):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            to_cpu = node.func.attr == "to" and any(
                isinstance(a, ast.Constant) and a.value == "cpu"
                for a in (*node.args, *(k.value for k in node.keywords))
            )
            if to_cpu or (node.func.attr in TO_HOST and not node.args and source.resolve(node.func) is None):
                lines.setdefault(node.lineno, ast.unparse(node).splitlines()[0])
    for line, text in sorted(lines.items()):
        yield Hit(line, {"TEXT": text})

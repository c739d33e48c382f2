"""What a condition depends on: shapes, the machine, the device, the training mode, the step, a setting.

A condition is followed through variables, attributes, properties, helpers, defaults and arguments, so that
`if self.fits` says as much as `if x.shape[0] % 128 == 0`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache

from scorer.rules.scopes import Binding, Scopes, scopes
from scorer.rules.source import Function, Source


class Kind(StrEnum):
    """What a condition asks for."""

    MACHINE = "machine"  # what is installed, found on the disk, exported, or has failed before
    SHAPE = "shape"  # shapes, dtypes and values of tensors
    DEVICE = "device"
    MODE = "mode"  # module.training
    GRADIENT = "gradient"  # whether gradients are recorded
    STEP = "step"
    RANK = "rank"
    SETTING = "setting"


SHAPE_ATTRIBUTES = {"shape", "dtype", "ndim", "itemsize", "nbytes", "layout"}
SHAPE_METHODS = {
    *("size", "numel", "nelement", "dim", "stride", "is_contiguous", "element_size", "is_floating_point"),
    *("isnan", "isinf", "isfinite", "allclose", "equal", "item", "any", "all"),
}
# Names of numbers that a tensor's shape follows from.
DIMENSION = re.compile(
    r"(^|_)(dim|dims|size|width|height|rows?|cols?|columns|length|len|seq|seqlen|channels|features|batch|tokens|hidden"
    r"|embd|elements|numel|partitions|aligned|alignment)(_|$)|^(T|B|C|D|H|N|M|K)$"
)
DEVICE_ATTRIBUTES = {"device", "is_cuda", "is_cpu", "is_neuron", "device_type"}
DEVICE_WORD = re.compile(r"device|neuron|cuda|\bcpu\b", re.IGNORECASE)
STEP_NAME = re.compile(
    r"^(global_|train_|cur_|current_)?(step|steps|iteration|iter|it|update|updates|epoch)(_idx|_num)?$"
)
RANK_NAME = re.compile(r"^(local_|ddp_|global_|my_)?rank$|^is_(master|main)(_process)?$", re.IGNORECASE)
GRADIENT = {
    "torch.is_grad_enabled",
    "torch.is_inference_mode_enabled",
    "torch.inference_mode.is_enabled",
    "torch._C._is_grad_enabled",
    "torch.is_inference",
}
# Beginnings of full names of what answers for the machine; each ends where a name does.
ASKS_MACHINE = (
    *(
        "importlib.util.",
        "importlib.metadata.",
        "importlib.resources.",
        "importlib.import_module.",
        "importlib_metadata.",
    ),
    *(
        "pkgutil.",
        "pkg_resources.",
        "packaging.",
        "shutil.which.",
        "shutil.disk_usage.",
        "platform.",
        "socket.",
        "psutil.",
    ),
    *(
        "os.environ.",
        "os.environb.",
        "os.getenv.",
        "os.path.exists.",
        "os.path.isfile.",
        "os.path.isdir.",
        "os.access.",
    ),
    *("os.path.islink.", "os.path.lexists.", "os.stat.", "os.listdir.", "os.scandir.", "os.cpu_count.", "os.uname."),
    *(
        "os.sched_getaffinity.",
        "os.name.",
        "glob.",
        "sys.modules.",
        "sys.platform.",
        "sys.version.",
        "sys.version_info.",
    ),
    *(
        "sys.implementation.",
        "sysconfig.",
        "resource.",
        "subprocess.",
        "builtins.__import__.",
        "torch.cuda.",
        "torch.xpu.",
    ),
    *("torch.version.", "torch.mps.", "torch.backends.", "torch.accelerator.", "torch.neuron.is_available."),
    *("torch.neuron.device_count.",),
)
ASKS_OBJECT = {"builtins.hasattr", "builtins.getattr", "builtins.callable", "builtins.dir"}  # of a module: the machine
PATH_QUESTIONS = {"exists", "is_file", "is_dir", "is_char_device", "is_socket", "is_mount"}
LIMIT = 400  # expressions that are followed for one condition


class Conditions:
    """Answers of one file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._scopes: Scopes = scopes(source)
        self._known: dict[int, frozenset[Kind]] = {}
        self._takers = {
            id(argument): function
            for function in source.functions
            for argument in ast.walk(function.args)
            if isinstance(argument, ast.arg)
        }

    def kinds(self, condition: ast.AST) -> frozenset[Kind]:
        """Everything that a condition depends on; SETTING alone where it is nothing that the rules know."""
        if id(condition) not in self._known:
            found = frozenset(self._follow(condition))
            self._known[id(condition)] = found or frozenset({Kind.SETTING})
        return self._known[id(condition)]

    def _follow(self, condition: ast.AST) -> Iterator[Kind]:
        seen: set[int] = set()
        waiting: list[ast.AST] = [condition]
        while waiting and len(seen) < LIMIT:
            top = waiting.pop()
            if id(top) in seen:
                continue
            seen.add(id(top))
            if isinstance(top, ast.Try | ast.TryStar):
                if not _always_leaves(top):
                    yield Kind.MACHINE  # it tried something, and remembers whether it worked
                continue
            nodes = self._source.walk(top)
            tests = [n for n in nodes if isinstance(n, ast.Compare) and _is_none_test(n)]
            unread = {id(s) for n in tests for s in _sides(n) if isinstance(s, (ast.Name, ast.Attribute))}
            for node in nodes:
                if id(node) in unread:  # whether there is something is no question about what it is
                    waiting.extend(self._tried(node))
                    continue
                yield from self._direct(node)
                waiting.extend(self._behind(node))

    def _direct(self, node: ast.AST) -> Iterator[Kind]:
        """What one node of an expression says by itself."""
        full = self._source.resolve(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        if full is not None:
            if full in GRADIENT:
                yield Kind.GRADIENT
            elif f"{full}.".startswith(ASKS_MACHINE):
                yield Kind.MACHINE
        if isinstance(node, ast.Attribute):
            if node.attr in SHAPE_ATTRIBUTES and full is None:
                yield Kind.SHAPE
            elif node.attr in DEVICE_ATTRIBUTES:
                yield Kind.DEVICE
            elif node.attr == "training":
                yield Kind.MODE
            elif node.attr == "requires_grad":
                yield Kind.GRADIENT
            elif node.attr == "__version__":
                yield Kind.MACHINE
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            resolved = self._source.resolve(node.func)
            if node.func.attr in SHAPE_METHODS and (resolved is None or resolved.startswith("torch.")):
                yield Kind.SHAPE
            elif node.func.attr in PATH_QUESTIONS and resolved is None:
                yield Kind.MACHINE
        if isinstance(node, ast.Call) and node.args and self._source.resolve(node.func) in ASKS_OBJECT:
            root = node.args[0]
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and self._is_import(root):
                yield Kind.MACHINE
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and DEVICE_WORD.search(node.value):
            yield Kind.DEVICE
        if isinstance(node, (ast.Name, ast.Attribute)):
            name = node.id if isinstance(node, ast.Name) else node.attr
            if DEVICE_WORD.search(name):
                yield Kind.DEVICE
            if STEP_NAME.match(name):
                yield Kind.STEP
            if RANK_NAME.match(name):
                yield Kind.RANK
        if isinstance(node, ast.Compare) and not _is_none_test(node):
            if any(map(_is_dimension, _sides(node))) and not _is_text_test(node):
                yield Kind.SHAPE
        elif isinstance(node, ast.Compare):
            yield from self._import_asked(node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _is_dimension(node.left):
            yield Kind.SHAPE
        elif isinstance(node, ast.Name) and self._is_import(node) and self._bindings_fail(node):
            yield Kind.MACHINE

    def _import_asked(self, node: ast.Compare) -> Iterator[Kind]:
        """`nki is None`: whether an import has worked."""
        if any(isinstance(side, ast.Name) and self._is_import(side) for side in _sides(node)):
            yield Kind.MACHINE

    def _is_import(self, node: ast.Name) -> bool:
        return any(isinstance(b.node, (ast.Import, ast.ImportFrom)) for b in self._scopes.of(node.id, node))

    def _bindings_fail(self, node: ast.Name) -> bool:
        return len(self._scopes.of(node.id, node)) > 1

    def _tried(self, node: ast.AST) -> list[ast.AST]:
        """The `try` statements in which a variable or an attribute got its value."""
        bound: list[Binding] = []
        if isinstance(node, ast.Name):
            bound = self._scopes.of(node.id, node)
        elif isinstance(node, ast.Attribute) and node.attr in self._scopes.members:
            bound = self._scopes.members[node.attr].values
        return [test for b in bound for test in self._scopes.tests(b) if isinstance(test, ast.Try | ast.TryStar)]

    def _behind(self, node: ast.AST) -> list[ast.AST]:
        """Expressions that a node's value comes from."""
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            return [part for b in self._scopes.of(node.id, node) for part in self._parts(b, node.id)]
        if isinstance(node, ast.Attribute) and node.attr in self._scopes.members:
            members = self._scopes.members[node.attr]
            found = [part for b in members.values for part in self._parts(b, node.attr)]
            for method in members.methods:
                called = isinstance(self._source.parent(node), ast.Call)
                if called or any(_last_name(d) in {"property", "cached_property"} for d in method.decorator_list):
                    found.extend(self._returned(method))
            return found
        if isinstance(node, ast.Call):
            own = self._scopes.function(node.func)
            if own is not None:
                return self._returned(own)
            if self._source.resolve(node.func) == "builtins.getattr" and len(node.args) > 1:
                names = self._source.texts(node.args[1])
                if "training" in names:
                    return [ast.copy_location(ast.Attribute(node.args[0], "training", ast.Load()), node)]
                held = [
                    (b, name)
                    for name in names
                    if name in self._scopes.members
                    for b in self._scopes.members[name].values
                ]
                return [part for binding, name in held for part in self._parts(binding, name)]
        return []

    def _parts(self, binding: Binding, name: str) -> list[ast.AST]:
        """What a binding's value comes from: its expression, the conditions around it, and a parameter's arguments."""
        if binding.parameter:
            owner = self._function_of(binding.node)
            if owner is None:
                return []
            return [given for given in self._scopes.arguments(owner, name) if _is_answer(given)]
        if binding.value is None or isinstance(binding.node, (Function, ast.ClassDef)):
            return [test for test in self._scopes.tests(binding) if isinstance(test, ast.Try | ast.TryStar)]
        if not binding.whole and isinstance(binding.value, ast.Call) and not _asks_shape(binding.value):
            return []  # an element of what something has returned
        return [binding.value, *self._scopes.tests(binding)]

    def _returned(self, function: Function) -> list[ast.AST]:
        """What a helper returns, and the conditions under which it does."""
        found: list[ast.AST] = []
        for node in self._source.walk(function):
            if isinstance(node, ast.Return) and node.value is not None:
                found.append(node.value)
            elif isinstance(node, ast.Try | ast.TryStar):
                found.append(node)
            elif isinstance(node, (ast.If, ast.While)):
                found.append(node.test)
            elif isinstance(node, ast.Match):
                found.append(node.subject)
        return found

    def _function_of(self, argument: ast.AST) -> Function | None:
        return self._takers.get(id(argument))


def _always_leaves(node: ast.Try | ast.TryStar) -> bool:
    return all(isinstance(handler.body[-1], ast.Raise) for handler in node.handlers)


def _is_answer(node: ast.expr) -> bool:
    """Whether an argument looks like a yes or no rather than like data."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    return isinstance(node, (ast.Compare, ast.BoolOp)) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod))


def _sides(node: ast.Compare) -> list[ast.expr]:
    return [node.left, *node.comparators]


def _is_none_test(node: ast.Compare) -> bool:
    return any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops) and any(
        isinstance(side, ast.Constant) and side.value is None for side in _sides(node)
    )


def _is_text_test(node: ast.Compare) -> bool:
    return any(isinstance(side, ast.Constant) and isinstance(side.value, str) for side in _sides(node))


def _is_dimension(node: ast.AST) -> bool:
    """Whether an expression is a number that a shape follows from, by its name."""
    if isinstance(node, ast.BinOp):
        return _is_dimension(node.left)
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return bool(name) and DIMENSION.search(name) is not None


def _asks_shape(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Attribute) and n.attr in (SHAPE_ATTRIBUTES | SHAPE_METHODS) for n in ast.walk(node))


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


@lru_cache(maxsize=1)
def conditions(source: Source) -> Conditions:
    """One table of answers for all the checks of one file."""
    return Conditions(source)

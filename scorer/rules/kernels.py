"""Checks of how kernels are chosen. A kernel that cannot run must say so: nothing may take its place in silence."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.source import Function, Hit, Source

# Ends of full names, whatever package offers them: neuronxcc.nki.jit is nki.jit too.
JIT = ("nki.jit", "nki_jit")
WRAPPERS = (*JIT, "nki.simulate", "wrap_nki", "nki_op")
CALLS_ITSELF = {"apply", "forward", "__call__"}  # `Function.apply(x)` runs Function
SUPPRESS = "contextlib.suppress"
EXITS = {"sys.exit", "os._exit", "builtins.exit", "builtins.quit"}
SHAPE_ATTRIBUTES = {"shape", "dtype", "ndim", "itemsize"}
SHAPE_METHODS = {"size", "numel", "nelement", "dim", "stride", "is_contiguous", "element_size", "is_floating_point"}


class Kernels:
    """Which functions, classes and attributes of a file lead to the launch of a kernel."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.jitted: set[ast.AST] = {
            function
            for function in source.functions
            for decorator in function.decorator_list
            if _ends_with(source.resolve(decorator.func if isinstance(decorator, ast.Call) else decorator), JIT)
        }
        self._names = {function.name for function in source.functions if function in self.jitted}
        self._members: set[str] = set()  # `self.NAME(...)` launches
        self._callees: dict[int, list[ast.expr]] = {}  # of each node that was looked at, by id
        self._grow()

    def launched(self, nodes: Iterable[ast.AST]) -> str | None:
        """The first call among these nodes that leads to a kernel, as it is written; None: there is none."""
        for top in nodes:
            if id(top) not in self._callees:
                self._callees[id(top)] = [node.func for node in ast.walk(top) if isinstance(node, ast.Call)]
            for callee in self._callees[id(top)]:
                if self._leads_to_kernel(callee):
                    return ast.unparse(callee)
        return None

    def _leads_to_kernel(self, callee: ast.expr) -> bool:
        if isinstance(callee, (ast.Call, ast.Subscript)):  # wrap_nki(kernel)[lnc](...)
            return self._leads_to_kernel(callee.func if isinstance(callee, ast.Call) else callee.value)
        if _ends_with(self._source.resolve(callee), WRAPPERS):
            return True
        if isinstance(callee, ast.Name):
            return callee.id in self._names
        if isinstance(callee, ast.Attribute):
            of_self = isinstance(callee.value, ast.Name) and callee.value.id == "self"
            return (of_self and callee.attr in self._members) or (
                callee.attr in CALLS_ITSELF and self._leads_to_kernel(callee.value)
            )
        return False

    def _grow(self) -> None:
        """Add what calls a kernel, what calls that, and so on, until nothing is left to add."""
        source = self._source
        methods = {
            id(m) for c in source.nodes if isinstance(c, ast.ClassDef) for m in c.body if isinstance(m, Function)
        }
        definitions = [
            node
            for node in source.nodes
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node not in self.jitted
        ]
        assignments = [node for node in source.nodes if isinstance(node, ast.Assign) and len(node.targets) == 1]
        before = -1
        while before != len(self._names) + len(self._members):
            before = len(self._names) + len(self._members)
            for node in definitions:
                known = self._members if id(node) in methods else self._names
                if node.name not in known and node.name not in CALLS_ITSELF and self.launched(node.body):
                    known.add(node.name)
            for assignment in assignments:
                target, value = assignment.targets[0], assignment.value
                if isinstance(target, ast.Name) and self._is_callable_with_kernel(value):
                    self._names.add(target.id)
                elif isinstance(target, ast.Attribute) and self.launched([value]):
                    self._members.add(target.attr)  # self.norm = NkiRMSNorm(...)

    def _is_callable_with_kernel(self, value: ast.expr) -> bool:
        """Whether a value is something to call that leads to a kernel, rather than what a kernel has returned."""
        if isinstance(value, (ast.Name, ast.Attribute)):
            return self._leads_to_kernel(value)
        wrapper = value.value if isinstance(value, ast.Subscript) else value
        if not isinstance(wrapper, ast.Call):
            return False
        made_by = self._source.top_level.get(wrapper.func.id) if isinstance(wrapper.func, ast.Name) else None
        is_class = isinstance(made_by, ast.ClassDef) and made_by.name in self._names
        return is_class or _ends_with(self._source.resolve(wrapper.func), WRAPPERS)


def _ends_with(full_name: str | None, ends: tuple[str, ...]) -> bool:
    return full_name is not None and any(f".{full_name}".endswith(f".{end}") for end in ends)


def rescued_kernel(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """An `except`, `suppress` or `finally` that goes on after a kernel has raised, whatever it catches."""
    kernels = _kernels(source)
    suppressors = _suppressors(source)
    for node in source.nodes:
        if isinstance(node, ast.With) and _suppresses(source, node, suppressors):
            call = kernels.launched(node.body)
            if call:
                yield Hit(node.lineno, {"CALL": call})
        if isinstance(node, ast.Try | ast.TryStar):
            call = kernels.launched(node.body)
            for handler in node.handlers:
                if call and not always_raises(source, handler.body):
                    yield Hit(handler.lineno, {"CALL": call})
            jump = _jump(node.finalbody)
            call = kernels.launched([*node.body, *node.handlers, *node.orelse]) if jump else None
            if jump and call:
                yield Hit(jump.lineno, {"CALL": call})


def _suppressors(source: Source) -> set[str]:
    """Variables that hold what `contextlib.suppress` has made."""
    return _stored(
        [
            target
            for node in source.nodes
            if isinstance(node, ast.Assign) and _calls(source, node.value, SUPPRESS)
            for target in node.targets
        ]
    )


def _suppresses(source: Source, node: ast.With, suppressors: set[str]) -> bool:
    """Whether a `with` drops exceptions: by one of its managers, or by one that its body enters on a stack."""
    entered = [
        argument
        for inner in ast.walk(node)
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == "enter_context"
        for argument in inner.args
    ]
    managers = [*(item.context_expr for item in node.items), *entered]
    return any(
        _calls(source, manager, SUPPRESS) or (isinstance(manager, ast.Name) and manager.id in suppressors)
        for manager in managers
    )


def _calls(source: Source, node: ast.AST, full_name: str) -> bool:
    return any(isinstance(n, ast.Call) and source.resolve(n.func) == full_name for n in ast.walk(node))


def _jump(body: Sequence[ast.AST], in_loop: bool = False) -> ast.stmt | None:
    """The first statement by which a `finally` is left early, which drops the exception on its way."""
    for statement in body:
        if isinstance(statement, ast.Return) or (isinstance(statement, (ast.Break, ast.Continue)) and not in_loop):
            return statement
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(statement, (ast.For, ast.AsyncFor, ast.While)):
            found = _jump(statement.body, True) or _jump(statement.orelse, in_loop)
        else:
            children = ast.iter_child_nodes(statement)
            blocks = [c for c in children if isinstance(c, (ast.stmt, ast.ExceptHandler, ast.match_case))]
            found = _jump(blocks, in_loop)
        if found:
            return found
    return None


def shape_fallback(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """A condition on shapes or dtypes that chooses between a kernel and other computation."""
    for function, condition, call, other in _choices(source):
        if _asks_for_shape(function, condition):
            yield Hit(condition.lineno, {"CONDITION": ast.unparse(condition), "CALL": call, "OTHER": other})


def device_choice(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """A condition on the device that chooses between a kernel and other computation."""
    for function, condition, call, other in _choices(source):
        text = ast.unparse(condition)
        if not _asks_for_shape(function, condition) and ("device" in text or "neuron" in text):
            yield Hit(condition.lineno, {"CONDITION": text, "CALL": call, "OTHER": other})


def always_raises(source: Source, body: Sequence[ast.AST]) -> bool:
    """Whether control cannot pass the end of these statements: an exception or an exit with an error ends the run."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return always_raises(source, last.body) and always_raises(source, last.orelse)
    if isinstance(last, ast.With):
        return always_raises(source, last.body)
    return isinstance(last, ast.Raise) or (isinstance(last, ast.Expr) and _exits_with_error(source, last.value))


def _exits_with_error(source: Source, node: ast.expr) -> bool:
    """Whether an expression ends the process with a status other than that of success."""
    if not isinstance(node, ast.Call) or source.resolve(node.func) not in EXITS:
        return False
    return len(node.args) == 1 and not (isinstance(node.args[0], ast.Constant) and node.args[0].value in (None, 0))


@lru_cache(maxsize=1)
def _kernels(source: Source) -> Kernels:
    """One analysis for all the checks of one file."""
    return Kernels(source)


@lru_cache(maxsize=1)
def _choices(source: Source) -> list[tuple[Function, ast.expr, str, str]]:
    """(function, condition, kernel call, what runs instead) for each branch with a kernel on exactly one side."""
    found = []
    kernels = _kernels(source)
    for function in source.functions:
        if function in kernels.jitted:
            continue
        for test, *sides in _branches(function):
            calls = [kernels.launched(side) for side in sides]
            for call, counterpart, other in ((calls[0], calls[1], sides[1]), (calls[1], calls[0], sides[0])):
                if call and not counterpart and not always_raises(source, other) and _computes(other):
                    found.append((function, test, call, ast.unparse(other[0]).splitlines()[0]))
    return found


def _branches(function: Function) -> Iterator[tuple[ast.expr, Sequence[ast.AST], Sequence[ast.AST]]]:
    """(condition, what runs if it holds, what runs if not), of every `if` inside a function.

    Where there is no `else`: what follows, if the branch leaves the block; or else what gave the branch's variables
    the values that they keep.
    """
    for node in ast.walk(function):
        if isinstance(node, ast.IfExp):
            yield node.test, [node.body], [node.orelse]
        for name in ("body", "orelse", "finalbody"):
            found = getattr(node, name, None)
            block: list[ast.stmt] = found if isinstance(found, list) else []
            for index, statement in enumerate(block):
                if not isinstance(statement, ast.If):
                    continue
                if statement.orelse:
                    yield statement.test, statement.body, statement.orelse
                elif isinstance(statement.body[-1], (ast.Return, ast.Continue, ast.Break)):
                    yield statement.test, statement.body, block[index + 1 :]
                else:
                    changed = _stored(statement.body)
                    yield statement.test, statement.body, [s for s in block[:index] if _stored([s]) & changed]


def _stored(statements: Sequence[ast.AST]) -> set[str]:
    """Variables that these statements assign."""
    nodes = [node for statement in statements for node in ast.walk(statement)]
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _computes(nodes: Sequence[ast.AST]) -> bool:
    """Whether these nodes do more than hand a value on."""
    return any(isinstance(node, (ast.Call, ast.BinOp)) for top in nodes for node in ast.walk(top))


def _asks_for_shape(function: Function, condition: ast.expr) -> bool:
    """Whether a condition depends on a tensor's shape or dtype, directly or through a variable of its function."""
    if _mentions_shape(condition):
        return True
    names = {node.id for node in ast.walk(condition) if isinstance(node, ast.Name)}
    return any(
        isinstance(node, ast.Assign) and _stored(node.targets) & names and _mentions_shape(node.value)
        for node in ast.walk(function)
    )


def _mentions_shape(node: ast.expr) -> bool:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and inner.attr in SHAPE_ATTRIBUTES:
            return True
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr in SHAPE_METHODS:
            return True
    return False

"""Checks of what goes on after an error: rescued kernels, implementations that take over, errors only printed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.endings import always_raises, jump
from scorer.rules.kernels import PACKAGES, Kernels, kernels
from scorer.rules.scopes import scopes
from scorer.rules.source import Function, Hit, Source

SUPPRESS = "contextlib.suppress"
EVERYTHING = {"builtins.Exception", "builtins.BaseException", "builtins.ExceptionGroup", "builtins.BaseExceptionGroup"}
EXIT_METHODS = {"__exit__", "__aexit__"}
MANAGER = {"contextlib.contextmanager", "contextlib.asynccontextmanager"}
ENTERS = {"enter_context", "push", "enter_async_context"}
# Exceptions by which a program is controlled: they say nothing of what has failed.
CONTROL = {"KeyboardInterrupt", "StopIteration", "StopAsyncIteration", "GeneratorExit", "SystemExit", "CancelledError"}
# Exceptions that a kernel does not raise: waiting for them hides nothing.
UNRELATED = CONTROL | {
    *("FileNotFoundError", "FileExistsError", "EOFError", "asyncio.CancelledError", "queue.Empty"),
    *("BrokenPipeError", "UnicodeDecodeError", "UnicodeEncodeError"),
}
SAYS = (
    "builtins.print",
    "logging.",
    "warnings.",
    "sys.stderr.write",
    "sys.stdout.write",
    "traceback.",
)
MAKERS = ("torch.optim.", "torch.nn.", "torch.utils.", "torch.compile", "torch.load")
SAYING = {"print0", "log", "log0", "info", "warning", "warn", "error", "exception", "debug", "write", "append"}


def broad_except(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """An `except` clause that catches everything and goes on."""
    for node in source.every(ast.ExceptHandler):
        if always_raises(source, node.body):
            continue
        if (node.type is None or _is_broad(source, node.type)) and not _answers_device(source, node):
            yield Hit(node.lineno, {"TEXT": source.lines[node.lineno - 1].strip()})


def _answers_device(source: Source, clause: ast.ExceptHandler) -> bool:
    """`try: torch.device("neuron"); return True` and `except Exception: return False`: whether torch knows a device.

    Nothing is computed inside; what the answer then chooses is judged where it chooses.
    """
    around = source.parent(clause)
    if not isinstance(around, ast.Try) or around.orelse or around.finalbody or len(around.body) != 2:
        return False
    asked, answer = around.body
    if not (isinstance(asked, ast.Expr) and isinstance(asked.value, ast.Call) and len(clause.body) == 1):
        return False
    if source.resolve(asked.value.func) != "torch.device" or asked.value.keywords:
        return False
    plain = all(isinstance(argument, ast.Constant) for argument in asked.value.args)
    return plain and _is_bool(answer) and _is_bool(clause.body[0])


def _is_bool(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Return) or not isinstance(statement.value, ast.Constant):
        return False
    return isinstance(statement.value.value, bool)


def _is_broad(source: Source, node: ast.expr) -> bool:
    """Whether an exception, or one of a tuple of them, is the class of all."""
    if isinstance(node, ast.Starred):
        return _is_broad(source, node.value)
    if isinstance(node, ast.BinOp):  # ERRORS + (Exception,)
        return _is_broad(source, node.left) or _is_broad(source, node.right)
    named = source.elements(node)
    if named is not None:
        return any(_is_broad(source, element) for element in named)
    return bool(EVERYTHING & {*source.names(node)})


def optional_import(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """An import in a `try` whose clauses do not all raise, or under a context manager that drops exceptions; and
    something else in the place of a name that a kernel package may lack: `getattr(nki, "jit", own)`.
    """
    managers = _Managers(source)
    for node in source.every(ast.Try, ast.TryStar, ast.With, ast.AsyncWith):
        silent = False
        if isinstance(node, ast.Try | ast.TryStar):
            clauses = [*node.handlers]
            silent = any(not always_raises(source, clause.body) for clause in clauses) or bool(jump(node.finalbody))
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            silent = managers.suppress(node)
        imported = [n for n in source.walk_all(node.body) if _imports(source, n)] if silent else []
        if imported:
            yield Hit(node.lineno, {"NAME": ast.unparse(imported[0])})
    for call in source.every(ast.Call):
        replaced = source.resolve(call.func) == "builtins.getattr" and not _is_none(call.args[-1]) and call.args[2:]
        if replaced and any(name.partition(".")[0] in PACKAGES for name in source.names(call.args[0])):
            yield source.hit(call, NAME=ast.unparse(call))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _imports(source: Source, node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return source.resolve(node.func) in {"importlib.import_module", "builtins.__import__"}
    return isinstance(node, (ast.Import, ast.ImportFrom))


def suppressed_exception(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """`suppress(Exception)`, and a context manager of the file that drops whatever is raised."""
    managers = _Managers(source)
    for node in source.every(ast.Call, ast.With, ast.AsyncWith):
        if isinstance(node, ast.Call) and source.resolve(node.func) == SUPPRESS:
            if any(_is_broad(source, argument) for argument in node.args):
                yield source.hit(node)
        elif isinstance(node, (ast.With, ast.AsyncWith)) and any(
            managers.drops_all(i.context_expr) for i in node.items
        ):
            yield Hit(node.lineno, {"TEXT": source.lines[node.lineno - 1].strip()})


def rescued_kernel(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """An `except`, a context manager, a decorator or a `finally` that goes on after a kernel has raised."""
    table = kernels(source)
    if not table.exist:
        return
    managers = _Managers(source)
    for block in source.blocks:
        yield from _checked_before(source, table, block)
    for node in source.nodes:
        if id(node) in table.inside_kernels:
            continue
        if isinstance(node, (ast.With, ast.AsyncWith)) and managers.suppress(node):
            call = table.launched_now(node.body)
            if call:
                yield Hit(node.lineno, {"CALL": call})
        elif isinstance(node, Function):
            for decorator in node.decorator_list:
                if managers.is_suppressor(decorator) and table.launched(node.body):
                    yield Hit(decorator.lineno, {"CALL": node.name})
        elif isinstance(node, ast.Try | ast.TryStar):
            call = table.launched_now(node.body)
            for handler in node.handlers:
                if call and not _waits_for(source, handler, UNRELATED) and not always_raises(source, handler.body):
                    yield Hit(handler.lineno, {"CALL": call})
            left = jump(node.finalbody)
            call = table.launched_now([*node.body, *node.handlers, *node.orelse]) if left else None
            if left and call:
                yield Hit(left.lineno, {"CALL": call})


def _checked_before(source: Source, table: Kernels, block: Sequence[ast.stmt]) -> Iterator[Hit]:
    """`try: check(x)`, `except ValueError: return plain(x)`, and the kernel after it."""
    for index, tried in enumerate(block):
        if not isinstance(tried, ast.Try | ast.TryStar) or table.launched_now(tried.body):
            continue
        call = table.launched_now(block[index + 1 :])
        for handler in tried.handlers if call else ():
            last = handler.body[-1]
            instead = isinstance(last, ast.Return) and source.inside(last, ast.Call, ast.BinOp)
            if instead and not table.launched(handler.body) and not _waits_for(source, handler, UNRELATED):
                yield Hit(handler.lineno, {"CALL": call or ""})


def _waits_for(source: Source, handler: ast.ExceptHandler, expected: set[str]) -> bool:
    """Whether a clause names only exceptions that are expected."""
    if handler.type is None:
        return False
    named = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return all((source.resolve(n) or ast.unparse(n)).removeprefix("builtins.") in expected for n in named)


class _Managers:
    """Which context managers of a file drop exceptions."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._classes = {node.name for node in source.every(ast.ClassDef) if self._drops_as_class(node)}
        self._functions = {function.name for function in source.functions if self._drops_as_generator(function)}

    def suppress(self, node: ast.With | ast.AsyncWith) -> bool:
        """Whether a `with` drops exceptions: by one of its managers, or by one that its body enters on a stack."""
        entered = [
            argument
            for inner in self._source.walk(node)
            if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr in ENTERS
            for argument in inner.args
        ]
        return any(self.is_suppressor(item.context_expr) for item in node.items) or any(
            self.is_suppressor(e) or self._answers_true(e) for e in entered
        )

    def drops_all(self, node: ast.AST) -> bool:
        """Whether an expression is an instance of a class whose `__exit__` always answers True."""
        made = scopes(self._source).class_of(node.func if isinstance(node, ast.Call) else node)
        exits = [m for m in made.body if isinstance(m, Function) and m.name in EXIT_METHODS] if made else []
        values = [n.value for m in exits for n in self._source.walk(m) if isinstance(n, ast.Return)]
        return bool(values) and all(isinstance(v, ast.Constant) and v.value is True for v in values)

    def is_suppressor(self, node: ast.AST) -> bool:
        """Whether an expression is, makes, or holds a context manager that drops exceptions."""
        if isinstance(node, ast.Call):
            full = self._source.resolve(node.func)
            if full == SUPPRESS or (
                isinstance(node.func, ast.Name) and node.func.id in self._classes | self._functions
            ):
                return True
            own = scopes(self._source).function(node.func)
            returned = [n.value for n in self._source.walk(own) if isinstance(n, ast.Return) and n.value] if own else []
            return any(self.is_suppressor(value) for value in [*returned, *node.args] if isinstance(value, ast.Call))
        if isinstance(node, ast.IfExp):
            return self.is_suppressor(node.body) or self.is_suppressor(node.orelse)
        if isinstance(node, ast.Name):
            bound = scopes(self._source).of(node.id, node)
            return any(
                b.value is not None and isinstance(b.value, ast.Call) and self.is_suppressor(b.value) for b in bound
            )
        if isinstance(node, ast.Attribute) and node.attr in scopes(self._source).members:
            values = scopes(self._source).members[node.attr].values
            return any(isinstance(b.value, ast.Call) and self.is_suppressor(b.value) for b in values)
        return False

    def _drops_as_class(self, node: ast.ClassDef) -> bool:
        """A class whose `__exit__` returns something other than None or False, or that derives from `suppress`."""
        if any(self._source.resolve(base) == SUPPRESS for base in node.bases):
            return True
        methods = [m for m in node.body if isinstance(m, Function) and m.name in EXIT_METHODS]
        return any(self._answers_true(m) for m in methods)

    def _answers_true(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Lambda):
            return not (isinstance(node.body, ast.Constant) and not node.body.value)
        function = node if isinstance(node, Function) else scopes(self._source).function(node)
        if function is None:
            return False
        values = [n.value for n in self._source.walk(function) if isinstance(n, ast.Return) and n.value is not None]
        return any(not (isinstance(value, ast.Constant) and not value.value) for value in values)

    def _drops_as_generator(self, function: Function) -> bool:
        """`@contextmanager` around a `yield` whose exceptions are caught and not raised again."""
        if not any(self._source.resolve(d) in MANAGER for d in function.decorator_list):
            return False
        for node in self._source.walk(function):
            if isinstance(node, ast.Try | ast.TryStar) and _yields(node.body):
                if any(not always_raises(self._source, handler.body) for handler in node.handlers):
                    return True
                if jump(node.finalbody):
                    return True
            managers = node.items if isinstance(node, (ast.With, ast.AsyncWith)) and _yields(node.body) else []
            if any(self._source.resolve(getattr(m.context_expr, "func", m)) == SUPPRESS for m in managers):
                return True
        return False


def _yields(body: Sequence[ast.AST]) -> bool:
    return any(isinstance(node, ast.Yield) for statement in body for node in ast.walk(statement))


def other_implementation(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """An `except` clause that puts another implementation in the place of the one that has failed (S5)."""
    table = kernels(source)
    makers = (*MAKERS, f"{profile.kit.module}.")
    for block in source.blocks:
        for index, node in enumerate(block):
            if not isinstance(node, ast.Try) or table.launched(node.body):
                continue
            for handler in node.handlers:
                if always_raises(source, handler.body) or _waits_for(source, handler, CONTROL):
                    continue
                found = _replacement(source, node, handler, block[:index], block[index + 1 :], makers)
                if found:
                    yield Hit(handler.lineno, {"FIRST": found[0], "SECOND": found[1]})


def _replacement(
    source: Source,
    node: ast.Try,
    handler: ast.ExceptHandler,
    before: Sequence[ast.stmt],
    after: Sequence[ast.stmt],
    makers: tuple[str, ...],
) -> tuple[str, str] | None:
    """(what the body makes, what stands in for it afterwards), where both are the program's own or torch's."""
    made = _made(source, [*node.body, *node.orelse], makers)
    if "return" in made:
        rest = [*handler.body, *after] if not _leaves(handler.body) else handler.body
    else:
        rest = handler.body
    instead = _made(source, rest, makers)
    kept = _made(source, before, makers)
    for target, first in made.items():
        second = instead.get(target)
        if second is None and target != "return" and not _stores(source, handler.body, target):
            second = kept.get(target)
        if second is not None and second != first:
            return first, second
    return None


def _made(source: Source, statements: Sequence[ast.AST], makers: tuple[str, ...]) -> dict[str, str]:
    """Target, or "return" -> the function or class of the program, of the kit or of torch that makes its value."""
    found: dict[str, str] = {}
    for statement in statements:
        for node in source.walk(statement):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                target, value = ast.unparse(node.targets[0]), node.value
            elif isinstance(node, ast.Return) and node.value is not None:
                target, value = "return", node.value
            else:
                continue
            maker = _maker(source, value, makers)
            if maker:
                found.setdefault(target, maker)
    return found


def _maker(source: Source, value: ast.AST, makers: tuple[str, ...]) -> str | None:
    named = value
    while isinstance(named, (ast.Call, ast.Subscript)):
        named = named.func if isinstance(named, ast.Call) else named.value
    full = source.resolve(named)
    if full is not None and named is not value and full.startswith(makers):
        return ast.unparse(named)
    if isinstance(named, ast.Name) and any(
        isinstance(b.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        for b in scopes(source).of(named.id, named)
    ):
        return named.id
    return ast.unparse(named) if scopes(source).function(named) is not None else None


def _stores(source: Source, statements: Sequence[ast.AST], target: str) -> bool:
    return any(
        ast.unparse(t) == target
        for node in source.walk_all(statements)
        if isinstance(node, ast.Assign)
        for t in node.targets
    )


def _leaves(body: Sequence[ast.AST]) -> bool:
    return bool(body) and isinstance(body[-1], (ast.Return, ast.Continue, ast.Break, ast.Raise))


def error_only_printed(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """An `except` clause that says something, or nothing, and goes on."""
    for node in source.every(ast.ExceptHandler):
        if _waits_for(source, node, UNRELATED):
            continue
        said = [statement for statement in node.body if _says(source, statement, profile)]
        idle = [s for s in node.body if isinstance(s, (ast.Pass, ast.Continue)) or s in said]
        if said and len(idle) == len(node.body):
            yield Hit(node.lineno, {"ERROR": ast.unparse(node.type) if node.type else "everything"})


def _says(source: Source, statement: ast.stmt, profile: Profile) -> bool:
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    callee = statement.value.func
    full = source.resolve(callee)
    if full is not None and not full.startswith(f"{profile.kit.module}."):
        return full.startswith(SAYS)
    last = callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", "")
    return last in SAYING

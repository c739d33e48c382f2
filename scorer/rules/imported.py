"""Checks of what differs between running the file and importing it: the scorer imports it, under a name of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.reach import Reach, guards, reach
from scorer.rules.scopes import scopes
from scorer.rules.source import Function, Hit, Source

CHANGES_STATE = ("torch.set_", "torch.use_", "torch.jit.", "torch.backends.", "torch.compiler.", "torch._dynamo.")
CHANGES_OTHERS = {
    *("builtins.setattr", "builtins.delattr", "builtins.exec", "builtins.eval", "os.putenv", "os.unsetenv", "os.chdir"),
    *("os.environ.update", "os.environ.setdefault", "os.environ.pop", "os.environ.clear", "sys.setrecursionlimit"),
}
MUTATES = {
    "update",
    "append",
    "extend",
    "insert",
    "add",
    "setdefault",
    "clear",
    "pop",
    "remove",
    "register",
    "__setitem__",
}
NAMESPACES = {"builtins.globals", "builtins.vars", "builtins.locals"}
OTHER_NAMES = {"__spec__", "__package__", "__loader__"}  # they too tell how the file was started
LOOKS_INTO = (  # what `_asked` and `_compared` tell
    *(ast.Compare, ast.If, ast.IfExp, ast.While, ast.BoolOp, ast.Match, ast.Subscript, ast.Attribute, ast.Assign),
    ast.Call,
)
TELLS_PATH = {"startswith", "endswith", "count", "find", "index", "partition", "split"}


def main_guard(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Under `if __name__ == "__main__":` nothing is defined or set that the rest of the file reads."""
    found = guards(source)
    if not found:
        return
    read_elsewhere = _names_read_in_functions(source)
    for guard in found:
        lines: dict[int, str] = {}
        local = {
            node.id
            for node in source.walk_all(guard.body)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        } - read_elsewhere
        for node in source.walk_all(guard.body):
            reason = _beyond_calling(source, node, read_elsewhere, local)
            if reason:
                lines.setdefault(getattr(node, "lineno", guard.lineno), reason)
        for line, reason in sorted(lines.items()):
            yield Hit(line, {"REASON": reason})


def _names_read_in_functions(source: Source) -> set[str]:
    """Names of the module that functions and methods read."""
    names: set[str] = set()
    for function in source.functions:
        inner = [node for node in source.walk(function) if isinstance(node, ast.Name)]
        own = {node.id for node in inner if isinstance(node.ctx, ast.Store)} | {
            node.arg for node in source.walk(function.args) if isinstance(node, ast.arg)
        }
        names |= {node.id for node in inner if isinstance(node.ctx, ast.Load)} - own
    return names


def _beyond_calling(source: Source, node: ast.AST, read_elsewhere: set[str], local: set[str]) -> str | None:
    """What a node under the guard does that an import would miss; None: nothing."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return f"defines {node.name}"
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        names = {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        return f"imports {', '.join(sorted(names))}, which functions read" if names & read_elsewhere else None
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return f"sets {node.id}, which functions read" if node.id in read_elsewhere else None
    if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
        root: ast.AST = node
        while isinstance(root, (ast.Attribute, ast.Subscript)):
            root = root.value
        return None if isinstance(root, ast.Name) and root.id in local else f"changes {ast.unparse(node)}"
    if isinstance(node, ast.Call):
        full = source.resolve(node.func) or ""
        if full in CHANGES_OTHERS or full.startswith(CHANGES_STATE):
            return f"calls {full.removeprefix('builtins.')}"
        if isinstance(node.func, ast.Attribute) and node.func.attr in MUTATES:
            held = node.func.value
            if isinstance(held, ast.Name) and held.id in read_elsewhere and not isinstance(held.ctx, ast.Store):
                return f"changes {held.id}, which functions read"
            if isinstance(held, ast.Call) and source.resolve(held.func) in NAMESPACES:
                return f"changes {ast.unparse(held)}"
    return None


def name_tests(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Nothing but the guard at the end may ask under which name, or from which path, the file runs."""
    guarded = guards(source)
    tests = {id(guard.test) for guard in guarded}
    lines: set[int] = {guard.orelse[0].lineno for guard in guarded if guard.orelse}
    for node in source.every(*LOOKS_INTO, ast.Import, ast.ImportFrom):
        if id(node) in tests or (isinstance(node, ast.If) and id(node.test) in tests):
            continue
        for asked in _asked(source, node):
            if any(_is_own_name(source, inner) for inner in source.walk(asked)):
                lines.add(asked.lineno)
        for asked in _compared(node):
            if any(_is_own_path(source, inner) for inner in source.walk(asked)):
                lines.add(asked.lineno)
        if isinstance(node, ast.Import) and any(alias.name == "__main__" for alias in node.names):
            lines.add(node.lineno)
        if isinstance(node, ast.ImportFrom) and node.module == "__main__":
            lines.add(node.lineno)
    yield from map(Hit, sorted(lines))


def _is_own_name(source: Source, node: ast.AST) -> bool:
    """`__name__`, `globals()["__name__"]`, `main.__module__`: under which name the file runs."""
    if isinstance(node, ast.Name):
        return node.id in {"__name__", *OTHER_NAMES} and not scopes(source).of(node.id, node)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == "__name__":
        return isinstance(node.value, ast.Call) and source.resolve(node.value.func) in NAMESPACES
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        held, key = node.func.value, node.args[0]
        is_name = isinstance(key, ast.Constant) and key.value == "__name__"
        return is_name and isinstance(held, ast.Call) and source.resolve(held.func) in NAMESPACES
    return isinstance(node, ast.Attribute) and node.attr == "__module__" and isinstance(node.ctx, ast.Load)


def _is_own_path(source: Source, node: ast.AST) -> bool:
    """`__file__`, `sys.argv[0]`: from which path the file runs."""
    if isinstance(node, ast.Name):
        return node.id == "__file__"
    index = node.slice if isinstance(node, ast.Subscript) else None
    return (
        isinstance(node, ast.Subscript)
        and isinstance(index, ast.Constant)
        and index.value == 0
        and source.resolve(node.value) in {"sys.argv", "sys.orig_argv"}
    )


def _asked(source: Source, node: ast.AST) -> list[ast.expr]:
    """The expressions whose value a node looks into: a condition, what is compared, `__name__` before `.` or `[`."""
    if isinstance(node, ast.Compare):
        return [node]
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        return [node.test]
    if isinstance(node, ast.BoolOp):
        return node.values[:-1]
    if isinstance(node, ast.Match):
        return [node.subject]
    if isinstance(node, ast.Subscript):
        return [node.value, node.slice]
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return [node.value]
    if isinstance(node, ast.Assign):
        return [node.value] if isinstance(node.value, (ast.Name, ast.Subscript)) else []  # to be asked unseen
    if isinstance(node, ast.Call) and scopes(source).function(node.func) is not None:
        return [a for a in (*node.args, *(k.value for k in node.keywords)) if isinstance(a, ast.Name)]
    return []


def _compared(node: ast.AST) -> list[ast.expr]:
    """Comparisons, and the calls that look into a text."""
    if isinstance(node, ast.Compare):
        return [node]
    if isinstance(node, ast.Match):
        return [node.subject]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in TELLS_PATH:
        return [node.func.value]
    return []


def runs_on_import(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """An import must not parse the command line, join a process group or train, and nor must a hook."""
    table = reach(source)
    hooks = [f for h in profile.hooks if isinstance(f := source.top_level.get(h.name), Function)]
    places = [(statement, "when it is imported") for statement in table.at_import]
    places += [(hook, f"in {hook.name}") for hook in hooks]
    lines: dict[int, tuple[str, str]] = {}
    for place, when in places:
        for function in [None, *table.called_from(place)]:
            kinds = (ast.Attribute, ast.Name, ast.Call)
            for node in table.evaluated([place], *kinds) if function is None else source.inside(function, *kinds):
                what = _work(source, table, node, hook=isinstance(place, Function))
                if what:
                    lines.setdefault(node.lineno if hasattr(node, "lineno") else 1, (what, when))
    for line, (what, when) in sorted(lines.items()):
        yield Hit(line, {"WHAT": what, "WHEN": when})


def _work(source: Source, table: Reach, node: ast.AST, hook: bool) -> str | None:
    """What a node does that belongs to a run: reading the command line, joining a group, learning."""
    if isinstance(node, (ast.Attribute, ast.Name)):
        argv = source.resolve(node) in {"sys.argv", "sys.orig_argv"} and isinstance(node.ctx, ast.Load)
        return "reads sys.argv" if argv and not isinstance(source.parent(node), ast.Attribute) else None
    if not isinstance(node, ast.Call):
        return None
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if method in {"parse_args", "parse_known_args", "parse_intermixed_args"} and not _given(node):
        return "parses the command line"
    if source.resolve(node.func) == "torch.distributed.init_process_group":
        return "joins a process group"
    if method == "backward" and not hook:
        return "learns"
    return None


def _given(node: ast.Call) -> bool:
    """Whether the words to parse are given, rather than taken from the command line."""
    words = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "args")]
    return bool(words) and not (isinstance(words[0], ast.Constant) and words[0].value is None)

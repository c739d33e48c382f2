"""Checks of the environment: which variables a file reads and sets, in whatever way it is written."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.paths import openings
from scorer.rules.source import Hit, Source
from scorer.rules.texts import HOLE
from scorer.rules.tree import Function, Way

ENVIRONMENTS = {"os.environ", "os.environb", "os.environ.data", "os.environb.data"}
READERS = {
    "os.getenv", "os.getenvb",
    *(f"{of}.{name}" for of in ENVIRONMENTS for name in ("get", "pop", "__getitem__", "__contains__", "setdefault")),
}  # fmt: skip
WRITERS = {"update", "__setitem__", "__delitem__", "clear"}  # methods that read nothing
SETTERS = {"setdefault", "update", "__setitem__", "__ior__"}
# Other ways to the same variables.
ELSEWHERE = {
    *("os.path.expandvars", "os.confstr", "dotenv.load_dotenv", "dotenv.dotenv_values", "decouple.config"),
    *("os.getxattr", "os.listxattr"),
    *("environs.Env", "pydantic_settings.BaseSettings", "sysconfig.get_config_vars"),
}
PROCESS_FILE = re.compile(r"^/proc/[^/]+/(task/[^/]+/)?(environ|cmdline)\b")
READ_BY = {"operator.getitem", "operator.contains"}
ALL = "all variables"
UNTOLD = "a variable whose name is computed"


@dataclass(frozen=True)
class Read:
    """One read: the expression that decides which variable it is, and the names that it may have; None: not known."""

    node: ast.AST
    names: tuple[str, ...] | None
    what: str = UNTOLD


@dataclass(frozen=True)
class Setting:
    """One place that sets a variable. `name` "": it cannot be told. `weak`: only where nobody else has set it."""

    node: ast.AST
    name: str
    value: ast.expr | None
    weak: bool = False


def environment_reads(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Reads of variables that the profile refuses, and of those whose name cannot be told."""
    for read in reads(source):
        if read.names is None:
            yield source.hit(read.node, NAME=read.what)
        else:
            for name in read.names:
                if profile.environment.ruling(name) == "refuse":
                    yield source.hit(read.node, NAME=name)
                    break


def stripped_reads(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Reads of variables that the clean room removes."""
    for read in reads(source):
        for name in read.names or ():
            if profile.environment.ruling(name) == "strip":
                yield source.hit(read.node, NAME=name)
                break


def environment_defaults(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Settings of variables that matter which give way to a value from outside; not where compiled code is kept."""
    for setting in settings(source):
        if setting.name in profile.environment.cache_directories:
            continue  # a run is given its own
        matters = not setting.name or profile.environment.effect(setting.name) is not None
        if setting.weak and matters and profile.environment.owner(setting.name) is None:
            yield source.hit(setting.node)


def environment_elsewhere(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Reads of the environment by expansion of strings, through /proc, or by a library of settings."""
    for full in sorted(ELSEWHERE & source.named.keys()):
        for mention in source.named[full]:
            yield source.hit(_around(source, mention))
    inside: set[int] = set()
    for call, paths in openings(source):
        if any(PROCESS_FILE.match(text) for path, _ in paths for text in source.texts(path)):
            inside.update(map(id, source.walk(call)))
            yield source.hit(call)
    for constant in source.every(ast.Constant):
        if isinstance(constant.value, str) and PROCESS_FILE.match(constant.value) and id(constant) not in inside:
            yield source.hit(constant)


def owned_settings(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Settings of variables that launcher or harness own."""
    for setting in settings(source):
        owner = profile.environment.owner(setting.name) if setting.name and not setting.weak else None
        if owner is not None:
            yield source.hit(setting.node, NAME=setting.name, OWNER=f"the {owner}")


def contradicting_settings(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """A variable that matters is set to one value and later to another, both without a condition of their own."""
    first: dict[str, tuple[str, int]] = {}
    for setting in settings(source):
        values = source.exact(setting.value)
        if not setting.name or values is None or len(values) != 1 or setting.weak:
            continue
        if profile.environment.effect(setting.name) is None or _conditional(source, setting.node):
            continue
        line = getattr(setting.node, "lineno", 1)
        before, at = first.setdefault(setting.name, (values[0], line))
        if before != values[0]:
            yield source.hit(setting.node, NAME=setting.name, VALUE=values[0], BEFORE=before, LINE=str(at))


def conflicting_compiler_settings(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """A variable set to 1 contradicts a compiler flag, and the compiler says so only when the run has started."""
    conflicts = profile.review.conflicting_flags
    set_to = [(setting, source.texts(setting.value)) for setting in settings(source)]
    on = [s for s, values in set_to if s.name in conflicts and "1" in values]
    for setting, values in set_to if on else []:
        flags = {spelled for s in on for flag in conflicts[s.name] for spelled in (flag, flag.replace("=", " "))}
        if any(flag in value for value in values for flag in flags):
            yield source.hit(setting.node, OTHER=str(getattr(on[0].node, "lineno", 0)))


@lru_cache(maxsize=1)
def settings(source: Source) -> list[Setting]:
    """Every place that sets a variable of this process's environment, in the order of the text."""
    found: list[Setting] = []
    for full, nodes in source.named.items():
        for node in nodes:
            parent = source.parent(node)
            if full in ENVIRONMENTS and isinstance(parent, ast.Subscript) and parent.value is node:
                found.extend(_items(source, parent))
            elif full in ENVIRONMENTS and isinstance(parent, ast.AugAssign) and parent.target is node:
                found.extend(_several(source, parent, [parent.value], []))
            elif isinstance(parent, ast.Call) and parent.func is node:
                base, _, method = full.rpartition(".")
                if full == "os.putenv" or (base in ENVIRONMENTS and method in ("setdefault", "__setitem__")):
                    value = parent.args[1] if len(parent.args) > 1 else None
                    found.extend(_named(source, parent, parent.args[:1], value, method == "setdefault"))
                elif base in ENVIRONMENTS and method in SETTERS:
                    found.extend(_several(source, parent, parent.args, parent.keywords))
    return sorted(found, key=lambda setting: (setting.node.lineno, setting.node.col_offset))  # type: ignore[attr-defined]


def _items(source: Source, item: ast.Subscript) -> Iterator[Setting]:
    """The setting of `os.environ[name] = value`, in all the ways of assigning."""
    if not isinstance(item.ctx, ast.Store):
        return
    statement = source.parent(item)
    value: ast.expr | None = None
    weak = isinstance(statement, ast.AugAssign)
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        value = statement.value
    names = source.texts(item.slice)
    if isinstance(statement, ast.Assign):
        weak = any(set(read.names or ()) & set(names) for read in _inside(source, statement.value))
        weak = weak or _only_where_unset(source, statement, names)
    yield from _named(source, statement if isinstance(statement, ast.stmt) else item, [item.slice], value, weak)


def _only_where_unset(source: Source, statement: ast.AST, names: tuple[str, ...]) -> bool:
    """Whether a condition around a statement asks whether the variable is there."""
    around = source.parent(statement)
    while around is not None and not isinstance(around, Function | ast.ClassDef):
        if isinstance(around, ast.If) and any(
            set(read.names or ()) & set(names) for read in _inside(source, around.test)
        ):
            return True
        around = source.parent(around)
    return False


def _inside(source: Source, top: ast.AST) -> list[Read]:
    inner = {id(node) for node in source.walk(top)}
    return [read for read in reads(source) if id(read.node) in inner]


def _several(source: Source, node: ast.AST, mappings: list[ast.expr], keywords: list[ast.keyword]) -> Iterator[Setting]:
    """The settings of `os.environ.update(...)`."""
    for mapping in mappings:
        if isinstance(mapping, ast.Call) and source.resolve(mapping.func) == "builtins.dict" and not mapping.args:
            yield from _several(source, node, [], mapping.keywords)
        elif isinstance(mapping, ast.Dict):
            for key, value in zip(mapping.keys, mapping.values, strict=True):
                yield from _named(source, node, [key] if key is not None else [], value, False)
        else:
            elements = source.elements(mapping)
            yield from _named(source, node, elements or [], None, False)
    for keyword in keywords:
        yield Setting(node, keyword.arg or "", keyword.value)


def _named(
    source: Source, node: ast.AST, names: list[ast.expr], value: ast.expr | None, weak: bool
) -> Iterator[Setting]:
    for name in names:
        for text in source.texts(name):
            yield Setting(node, "" if HOLE in text else text, value, weak)
    if not names:
        yield Setting(node, "", value, weak)


def _conditional(source: Source, node: ast.AST) -> bool:
    """Whether a statement stands under a condition."""
    around = source.parent(node)
    while around is not None:
        if isinstance(around, (ast.If, ast.IfExp, ast.Match, ast.Try, ast.While)):
            return True
        around = source.parent(around)
    return False


@lru_cache(maxsize=1)
def reads(source: Source) -> list[Read]:
    """Every read of the environment."""
    found: list[Read] = []
    for full, nodes in source.named.items():
        if full in ENVIRONMENTS:
            for node in nodes:
                found.extend(_whole(source, node))
        elif full in READERS:
            for node in nodes:
                found.extend(_reader(source, node, full))
        elif full.startswith("os.environ") and full.rpartition(".")[0] in ENVIRONMENTS:
            method = full.rpartition(".")[2]
            if method not in WRITERS and method not in ("data", "__ior__"):
                found.extend(Read(_around(source, node), None, ALL) for node in nodes)
    unique = {(source.span(read.node), read.names): read for read in found}
    return sorted(unique.values(), key=lambda read: source.span(read.node))


def _around(source: Source, node: ast.AST) -> ast.AST:
    """The call of a method, where it is called."""
    parent = source.parent(node)
    return parent if isinstance(parent, ast.Call) and parent.func is node else node


def _handed_on(source: Source, node: ast.expr) -> bool:
    """Whether an expression only goes on under another name, where it is found again."""
    parent = source.parent(node)
    if isinstance(parent, (ast.NamedExpr, ast.IfExp, ast.BoolOp)):
        return not (isinstance(parent, ast.IfExp) and parent.test is node)
    if isinstance(parent, (ast.Assign, ast.AnnAssign)):
        targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
        return parent.value is node and all(isinstance(target, (ast.Name, ast.Attribute)) for target in targets)
    if isinstance(parent, (ast.Tuple, ast.List)):  # a, b = os.environ, 1
        statement = source.parent(parent)
        return isinstance(statement, ast.Assign) and isinstance(statement.targets[0], (ast.Tuple, ast.List))
    if isinstance(parent, ast.Call) and node in parent.args:
        if source.resolve(parent.func) in ("functools.partial", "builtins.getattr", "builtins.vars"):
            return node is parent.args[0] and bool(source.names(parent))
        own = source.calls.definition(parent.func)
        return own is not None and not own.args.vararg
    if isinstance(parent, ast.arguments):  # a default
        function = source.parent(parent)
        return isinstance(function, Function | ast.Lambda) and source.calls.sites(function)[1]
    if isinstance(parent, ast.keyword):
        call = source.parent(parent)
        return isinstance(call, ast.Call) and source.calls.definition(call.func) is not None
    return False


def _whole(source: Source, node: ast.expr) -> Iterator[Read]:
    """What a mention of the environment itself reads."""
    parent = source.parent(node)
    if isinstance(parent, ast.Attribute) or _handed_on(source, node):
        return
    if isinstance(parent, ast.Subscript) and parent.value is node:
        if isinstance(parent.ctx, ast.Load):
            yield from _origins(source, parent, parent.slice)
    elif isinstance(parent, ast.Compare) and node in parent.comparators:
        yield from _origins(source, parent, parent.left)
    elif isinstance(parent, ast.AugAssign) and parent.target is node:
        return
    elif isinstance(parent, ast.Call) and source.resolve(parent.func) in READ_BY:
        names = parent.args[1:2] if parent.args[:1] == [node] else parent.args[:1]
        yield from _origins(source, parent, names[0]) if names else (Read(parent, None, ALL),)
    elif not isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
        yield Read(node, None, ALL)


def _reader(source: Source, node: ast.expr, full: str) -> Iterator[Read]:
    """What a function that reads one variable reads."""
    parent = source.parent(node)
    if not (isinstance(parent, ast.Call) and parent.func is node):
        if not _handed_on(source, node):
            yield Read(node, None)
        return
    if full.endswith((".setdefault", ".pop")) and isinstance(source.parent(parent), ast.Expr):
        return  # set or removed, and not looked at
    arguments = [*(node.args[1:] if isinstance(node, ast.Call) else ()), *parent.args]  # functools.partial
    named = [keyword.value for keyword in parent.keywords if keyword.arg == "key"]
    for name in (*arguments[:1], *named)[:1]:
        yield from _origins(source, parent, name)
    if not arguments and not named:
        yield Read(parent, None)


def _origins(source: Source, read: ast.AST, name: ast.expr) -> Iterator[Read]:
    """A read by the expressions that name its variable: where a helper reads it, those of the helper's callers."""
    if isinstance(name, ast.Name):
        looked_up = source.scopes.scope(name).look_up(name.id)
        binding = looked_up[1][0] if looked_up and len(looked_up[1]) == 1 else None
        if binding is not None and binding.way is Way.PARAMETER:
            values, complete = source.calls.arguments(binding.node, binding.text)  # type: ignore[arg-type]
            if complete:
                for value in values:
                    yield from _origins(source, value, value)
                return
    texts = source.exact(name)
    yield Read(read, texts)

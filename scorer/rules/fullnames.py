"""Which imported or built-in things an expression may stand for, by full name, however it is written.

    os.environ   posix.environ   getattr(os, "environ")   vars(os)["environ"]   os.__dict__.get("environ")
    torch.os.environ   sys.modules["os"].environ   __import__("os").environ   e = os.environ; e

are all "os.environ". Where the last part is computed and cannot be told it is `?`: `getattr(os, name)` is "os.?".
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable

from scorer.rules.calls import Calls
from scorer.rules.texts import HOLE, Texts
from scorer.rules.tree import Function, Tree, Way

FOREIGN_CLASS = "class"  # of some object, which nobody can tell: `type(x)`, `x.__class__`
UNTOLD = "?"
# Other names of the same thing: C twins of modules, and modules that others hold.
_SAME = {
    **{"posix": "os", "nt": "os", "_os": "os", "posixpath": "os.path", "ntpath": "os.path", "_sys": "sys", "_io": "io"},
    **{"_pickle": "pickle", "cPickle": "pickle", "_thread": "threading", "_socket": "socket", "_ctypes": "ctypes"},
    **{"__builtin__": "builtins", "__builtins__": "builtins", "_posixsubprocess": "subprocess", "_signal": "signal"},
    **{"_weakref": "weakref"},
}
_SAME_FULL = {"io.open": "builtins.open", "os.sys": "sys"}
_HELD = {
    *("os", "_os", "sys", "_sys", "builtins", "subprocess", "ctypes", "importlib", "pickle", "socket", "gc", "inspect"),
    "posix",
}
_HAVE_THEIR_OWN = {"asyncio", "multiprocessing", "builtins", "copyreg"}  # something else of such a name
BY_STRING = {
    "builtins.getattr",
    "inspect.getattr_static",
    "builtins.object.__getattribute__",
    "builtins.type.__getattribute__",
}
_IMPORTS = {"builtins.__import__", "importlib.import_module", "importlib.__import__"}
_NAMESPACES = {"builtins.globals", "builtins.locals"}
_LOOKUPS = {"get", "pop", "setdefault", "__getitem__"}
_BUILTINS = frozenset(dir(builtins)) | {"__builtins__"}


class Names:
    """The full names that one file's expressions may have."""

    def __init__(self, tree: Tree, calls: Calls, script: str) -> None:
        self._tree, self._calls = tree, calls
        self.texts = Texts(tree, calls, script, self.resolve)
        self._known: dict[int, tuple[str, ...]] = {}

    def resolve(self, node: ast.AST) -> str | None:
        """The first of the full names; None: there is none."""
        found = self.names(node)
        return found[0] if found else None

    def names(self, node: ast.AST) -> tuple[str, ...]:
        """Every full name that an expression may have."""
        if isinstance(node, ast.Constant):
            return ()
        key = id(node)
        known = self._known.get(key)
        if known is None:
            if key not in self._tree.scopes:  # a caller's own node, whose id another may have later
                return tuple(dict.fromkeys(map(_canonical, self._find(node))))
            self._known[key] = ()  # what is defined by itself
            known = self._known[key] = tuple(dict.fromkeys(map(_canonical, self._find(node))))
        return known

    def _find(self, node: ast.AST) -> Iterable[str]:
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Subscript):
            return self._item(node)
        if isinstance(node, (ast.NamedExpr, ast.Await, ast.Starred)):
            return self.names(node.value)
        if isinstance(node, ast.IfExp):
            return (*self.names(node.body), *self.names(node.orelse))
        if isinstance(node, ast.BoolOp):
            return [name for value in node.values for name in self.names(value)]
        return ()

    def _name(self, node: ast.Name) -> Iterable[str]:
        looked_up = self._tree.scope(node).look_up(node.id)
        if looked_up is None:
            if node.id in _BUILTINS:
                return (f"builtins.{node.id}",)
            return [f"{module}.{node.id}" for module in self._tree.star_imports]
        if not isinstance(node.ctx, ast.Load):
            return ()
        found: list[str] = []
        for binding in looked_up[1]:
            if binding.way is Way.IMPORT:
                found.append(binding.text)
            elif binding.way is Way.VALUE:
                found.extend(self.names(binding.node))
            elif binding.way is Way.ELEMENT:
                for element in self.texts.looped(binding.node, binding.path) or ():
                    found.extend(self.names(element))
            elif binding.way is Way.PARAMETER:
                values, _ = self._calls.arguments(binding.node, binding.text)  # type: ignore[arg-type]
                for value in values:
                    found.extend(self.names(value))
        return found

    def _attribute(self, node: ast.Attribute) -> Iterable[str]:
        bases = self.names(node.value)
        if bases:
            return [f"{base}.{node.attr}" for base in bases]
        if not isinstance(node.ctx, ast.Load):
            return ()
        owner = self._calls.class_of(node.value)
        if owner is None:
            return (FOREIGN_CLASS,) if node.attr == "__class__" else ()
        values = [*self._tree.members.get((id(owner), node.attr), ())]
        for binding in self._tree.inner[id(owner)].bindings.get(node.attr, ()):
            if isinstance(binding.node, Function) and any(map(_is_property, binding.node.decorator_list)):
                values.extend(self._calls.returned(binding.node))
        return [name for value in values for name in self.names(value)]

    def _call(self, node: ast.Call) -> Iterable[str]:
        full = self.resolve(node.func)
        arguments = node.args
        if full is not None:
            if full in BY_STRING and len(arguments) >= 2:
                return self._below(self.names(arguments[0]), arguments[1])
            if full in _IMPORTS and (arguments or node.keywords):
                name = arguments[0] if arguments else node.keywords[0].value
                modules = self.texts.exact(name)
                return [m.partition(".")[0] if full.endswith("__import__") else m for m in modules] if modules else ()
            if full == "builtins.type" and len(arguments) == 1 and self._calls.class_of(arguments[0]) is None:
                return (FOREIGN_CLASS,)
            if full == "builtins.vars" and arguments:
                return [f"{base}.__dict__" for base in self.names(arguments[0])]
            if full in ("functools.partial", "functools.partialmethod") and arguments:
                return self.names(arguments[0])
            if full == "operator.getitem" and len(arguments) == 2:
                return self._at(self.names(arguments[0]), arguments[1])
        if isinstance(node.func, ast.Attribute):
            if node.func.attr in _LOOKUPS and arguments:
                return self._at(self.names(node.func.value), arguments[0])
            if node.func.attr == "__getattribute__" and len(arguments) == 1:
                return self._below(self.names(node.func.value), arguments[0])
        if isinstance(node.func, ast.Call) and self.resolve(node.func.func) == "operator.attrgetter" and arguments:
            getter = node.func.args
            return self._below(self.names(arguments[0]), getter[0]) if getter else ()
        own = self._calls.definition(node.func)
        return [name for value in self._calls.returned(own) for name in self.names(value)] if own is not None else ()

    def _item(self, node: ast.Subscript) -> Iterable[str]:
        if isinstance(node.value, ast.Call) and self.resolve(node.value.func) in _NAMESPACES:
            return self._global(node.slice)
        bases = self.names(node.value)
        if bases:
            return self._at(bases, node.slice)
        elements: list[ast.expr] = []
        if isinstance(node.value, ast.Dict):
            elements = node.value.values
        elif isinstance(node.value, (ast.Tuple, ast.List)):
            elements = node.value.elts
        elif isinstance(node.value, ast.Name):
            looked_up = self._tree.scope(node.value).look_up(node.value.id)
            for binding in looked_up[1] if looked_up else ():
                if binding.way is Way.VALUE and isinstance(binding.node, ast.Dict):
                    elements = [*elements, *binding.node.values]
                elif binding.way is Way.VALUE and isinstance(binding.node, (ast.Tuple, ast.List)):
                    elements = [*elements, *binding.node.elts]
        return [name for element in elements for name in self.names(element)]

    def _global(self, key: ast.expr) -> Iterable[str]:
        found: list[str] = []
        for name in self.texts.exact(key) or ():
            for binding in self._tree.module.bindings.get(name, ()):
                if binding.way is Way.IMPORT:
                    found.append(binding.text)
                elif binding.way is Way.VALUE:
                    found.extend(self.names(binding.node))
            if name in ("__builtins__",):
                found.append("builtins")
        return found

    def _below(self, bases: Iterable[str], attribute: ast.expr) -> Iterable[str]:
        """The attribute of each base that a string names."""
        texts = [UNTOLD if HOLE in text else text for text in self.texts.texts(attribute)] if bases else []
        return [f"{base}.{text}" for base in bases for text in texts]

    def _at(self, bases: Iterable[str], key: ast.expr) -> Iterable[str]:
        """What stands under a key in one of the dictionaries that hold modules or a module's attributes."""
        found: list[str] = []
        for base in bases:
            if base == "sys.modules":
                found.extend(self.texts.exact(key) or ())
            elif base.endswith(".__dict__"):
                found.extend(self._below([base.removesuffix(".__dict__")], key))
            elif base == "builtins.__builtins__" or base == "builtins":
                found.extend(self._below(["builtins"], key))
        return found


def _is_property(decorator: ast.expr) -> bool:
    name = decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")
    return name in ("property", "cached_property")


def _canonical(full: str) -> str:
    """The one name of a thing that has several."""
    parts = full.split(".")
    for place in range(len(parts) - 1, 0, -1):
        own = place == 1 and (parts[0] in _HAVE_THEIR_OWN or parts[0] == parts[1])  # socket.socket
        if parts[place] in _HELD and not own:
            parts = parts[place:]
            break
    if parts[0] == "builtins" and len(parts) > 1 and parts[1] == "__builtins__":
        parts = ["builtins", *parts[2:]]
    if parts[0] in _SAME:
        parts[0] = _SAME[parts[0]]
    if len(parts) > 1 and parts[0] == "importlib" and parts[1] == "_bootstrap":
        parts[1:2] = []
    joined = ".".join(parts)
    for name, same in _SAME_FULL.items():
        if joined == name or joined.startswith(name + "."):
            return same + joined[len(name) :]
    return joined

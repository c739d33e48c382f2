"""Which strings an expression may stand for: constants, however they are put together, through names and parameters.

A part that cannot be told is a `HOLE`: `f"{kind}_val"` gives HOLE + "_val" where nothing is known of `kind`.
"""

from __future__ import annotations

import ast
import base64
import binascii
import itertools
import posixpath
from collections.abc import Callable, Iterable

from scorer.rules.calls import Calls
from scorer.rules.tree import Callable as Scoped
from scorer.rules.tree import Tree, Way

HOLE = "\x00"
UNKNOWN = (HOLE,)
_MOST = 16  # alternatives; more are not told apart
_LONGEST = 4096  # characters
_PLAIN_METHODS = {
    "lower", "upper", "title", "capitalize", "strip", "lstrip", "rstrip", "replace", "removeprefix", "removesuffix",
    "swapcase", "casefold",
}  # fmt: skip
_PATHS = {"pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath", "pathlib.PurePosixPath"}
_SAME_PATH = {
    "os.fspath", "os.path.abspath", "os.path.realpath", "os.path.normpath", "os.path.expanduser", "builtins.str",
    "os.path.expandvars",
}  # fmt: skip
_SAME_ELEMENTS = {
    *("builtins.list", "builtins.tuple", "builtins.set", "builtins.iter", "builtins.sorted", "builtins.reversed"),
}
_SIDE_BY_SIDE = {"builtins.zip", "itertools.zip_longest", "itertools.product"}
_HERE = {"os.getcwd", "pathlib.Path.cwd"}
_SAME_METHODS = {"as_posix", "resolve", "absolute", "expanduser", "encode", "decode", "__str__", "__fspath__"}


class Texts:
    """The strings of one file's expressions; `script` is what `__file__` is, in the directory that it runs in."""

    def __init__(self, tree: Tree, calls: Calls, script: str, resolve: Callable[[ast.AST], str | None]) -> None:
        self._tree, self._calls, self._script, self._resolve = tree, calls, script, resolve
        self._known: dict[int, tuple[str, ...]] = {}

    def texts(self, node: ast.AST | None) -> tuple[str, ...]:
        """Every string (bytes as text, paths with `/`) that an expression may be; UNKNOWN where none is known."""
        if node is None:
            return UNKNOWN
        if isinstance(node, ast.Constant):
            return (_text(node.value),)
        key = id(node)
        if key not in self._known:
            self._known[key] = UNKNOWN  # what is defined by itself
            self._known[key] = _few(self._find(node))
        return self._known[key]

    def exact(self, node: ast.AST | None) -> tuple[str, ...] | None:
        """All strings that an expression may be, where every one of them is known."""
        found = self.texts(node)
        return None if any(HOLE in text for text in found) else found

    def _find(self, node: ast.AST) -> Iterable[str]:
        if isinstance(node, ast.JoinedStr):
            return self._together(node.values)
        if isinstance(node, ast.FormattedValue):
            return self.texts(node.value) if node.format_spec is None else UNKNOWN
        if isinstance(node, ast.BinOp):
            return self._operation(node)
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.IfExp):
            return (*self.texts(node.body), *self.texts(node.orelse))
        if isinstance(node, ast.BoolOp):
            return itertools.chain.from_iterable(self.texts(value) for value in node.values)
        if isinstance(node, ast.NamedExpr):
            return self.texts(node.value)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Subscript):
            return self._part(node)
        if isinstance(node, ast.Attribute) and node.attr == "parent":
            return [posixpath.dirname(text) or "." for text in self.texts(node.value) if HOLE not in text] or UNKNOWN
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            around = self._tree.class_around(self._tree.scope(node.value), node.value.id)
            values = self._tree.members.get((id(around), node.attr), []) if around is not None else []
            if values:
                return itertools.chain.from_iterable(self.texts(value) for value in values)
        return UNKNOWN

    def _together(self, parts: Iterable[ast.expr], between: str = "") -> Iterable[str]:
        choices = [self.texts(part) for part in parts]
        return map(between.join, itertools.islice(itertools.product(*choices), _MOST + 1))

    def _operation(self, node: ast.BinOp) -> Iterable[str]:
        if isinstance(node.op, ast.Add):
            return self._together([node.left, node.right])
        if isinstance(node.op, ast.Div):
            return self._together([node.left, node.right], "/")
        if isinstance(node.op, ast.Mod):
            values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
            return _filled(self.texts(node.left), "%s", [self.texts(value) for value in values])
        if isinstance(node.op, ast.Mult) and isinstance(node.right, ast.Constant) and isinstance(node.right.value, int):
            times = node.right.value
            return [text * times for text in self.texts(node.left) if len(text) * times <= _LONGEST] or UNKNOWN
        return UNKNOWN

    def _name(self, node: ast.Name) -> Iterable[str]:
        looked_up = self._tree.scope(node).look_up(node.id)
        if looked_up is None:
            return (self._script,) if node.id == "__file__" else UNKNOWN
        found: list[str] = []
        for binding in looked_up[1]:
            if binding.way is Way.VALUE:
                found.extend(self.texts(binding.node))
            elif binding.way is Way.ELEMENT:
                elements = self.looped(binding.node, binding.path)
                if elements is None:
                    return UNKNOWN
                found.extend(itertools.chain.from_iterable(map(self.texts, elements)))
            elif binding.way is Way.PARAMETER:
                values, complete = self._calls.arguments(binding.node, binding.text)  # type: ignore[arg-type]
                found.extend(itertools.chain.from_iterable(map(self.texts, values)))
                if not complete:
                    found.append(HOLE)
            else:
                found.append(HOLE)
        return found or UNKNOWN

    def elements(self, node: ast.AST) -> list[ast.expr] | None:
        """What a written-out list, tuple, set or dict holds (a dict: its keys), through a name."""
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            return node.elts
        if isinstance(node, ast.Dict) and None not in node.keys:
            return [key for key in node.keys if key is not None]
        if isinstance(node, ast.Name):
            looked_up = self._tree.scope(node).look_up(node.id)
            if looked_up and len(looked_up[1]) == 1 and looked_up[1][0].way is Way.VALUE:
                value = looked_up[1][0].node
                return None if isinstance(value, ast.Name) else self.elements(value)
        return None

    def looped(self, iterated: ast.AST, path: tuple[int, ...] = ()) -> list[ast.expr] | None:
        """What a loop over an expression gives its variable, or a part of it by place; None where that is not known.

        `for name, run in zip(NAMES, (fast, slow))` gives `run`, at (1,), `fast` and `slow`.
        """
        if isinstance(iterated, ast.Call):
            full = self._resolve(iterated.func)
            if full in _SAME_ELEMENTS and iterated.args:
                return self.looped(iterated.args[0], path)
            if full in _SIDE_BY_SIDE:
                return self.looped(iterated.args[path[0]], path[1:]) if path and path[0] < len(iterated.args) else None
            if full == "builtins.enumerate" and iterated.args:
                return self.looped(iterated.args[0], path[1:]) if path[:1] == (1,) else None
            return self._entries(iterated.func, path) if isinstance(iterated.func, ast.Attribute) else None
        found = self.elements(iterated)
        for place in path if found is not None else ():
            rows = [row.elts for row in found or () if isinstance(row, (ast.Tuple, ast.List)) and place < len(row.elts)]
            if len(rows) != len(found or ()):
                return None
            found = [row[place] for row in rows]
        return found

    def _entries(self, method: ast.Attribute, path: tuple[int, ...]) -> list[ast.expr] | None:
        """What a loop over `table.keys()`, `.values()` or `.items()` gives."""
        table = self._written(method.value)
        if not isinstance(table, ast.Dict) or None in table.keys:
            return None
        sides = {"keys": 0, "values": 1}
        if method.attr in sides and not path:
            side = sides[method.attr]
        elif method.attr == "items" and len(path) == 1:
            side = path[0]
        else:
            return None
        return table.values if side else [key for key in table.keys if key is not None]

    def _written(self, node: ast.AST) -> ast.AST:
        """What a name that has one value stands for."""
        looked_up = self._tree.scope(node).look_up(node.id) if isinstance(node, ast.Name) else None
        alone = looked_up is not None and len(looked_up[1]) == 1 and looked_up[1][0].way is Way.VALUE
        return looked_up[1][0].node if looked_up is not None and alone else node

    def _call(self, node: ast.Call) -> Iterable[str]:
        full = self._resolve(node.func)
        if full in _PATHS or full == "os.path.join":
            return self._together(node.args, "/") if node.args else (".",)
        if full in _SAME_PATH and node.args:
            return self.texts(node.args[0])
        if full == "os.path.dirname" and node.args:
            return [posixpath.dirname(text) or "." for text in self.texts(node.args[0]) if HOLE not in text] or UNKNOWN
        if full in _HERE:
            return (".",)
        if full == "builtins.chr" and node.args and isinstance(node.args[0], ast.Constant):
            value = node.args[0].value
            return (chr(value),) if isinstance(value, int) and 0 <= value < 0x110000 else UNKNOWN
        if full in ("base64.b64decode", "builtins.bytes.fromhex", "binascii.unhexlify") and node.args:
            return [_decoded(full, text) for text in self.texts(node.args[0])]
        if isinstance(node.func, ast.Attribute):
            return self._method(node, node.func)
        own = self._calls.definition(node.func)
        if own is not None:
            return self._returned(own)
        return UNKNOWN

    def _returned(self, function: Scoped) -> Iterable[str]:
        values = self._calls.returned(function)
        return itertools.chain.from_iterable(map(self.texts, values)) if values else UNKNOWN

    def _method(self, node: ast.Call, method: ast.Attribute) -> Iterable[str]:
        name, base = method.attr, method.value
        if name in _SAME_METHODS:
            return self.texts(base)
        if name in ("with_suffix", "with_name", "with_stem") and len(node.args) == 1:
            return [
                f"{posixpath.dirname(text) or '.'}/{HOLE}" if HOLE not in text else HOLE for text in self.texts(base)
            ]
        if name == "joinpath":
            return self._together([base, *node.args], "/")
        if name == "join" and len(node.args) == 1:
            between = self.exact(base)
            turned = node.args[0]
            back = isinstance(turned, ast.Call) and self._resolve(turned.func) == "builtins.reversed" and turned.args
            if isinstance(turned, ast.Call) and back:
                return [text[::-1] for text in self.texts(turned.args[0])] if between == ("",) else UNKNOWN
            parts = self.elements(turned)
            return self._together(parts, between[0]) if between and len(between) == 1 and parts else UNKNOWN
        if name == "format":
            values = [self.texts(value) for value in (*node.args, *(keyword.value for keyword in node.keywords))]
            return _filled(self.texts(base), "{}", values)
        if name == "fromhex" and node.args:
            return [_decoded("builtins.bytes.fromhex", text) for text in self.texts(node.args[0])]
        arguments = [self.exact(argument) for argument in node.args]
        if name in _PLAIN_METHODS and all(argument is not None and len(argument) == 1 for argument in arguments):
            words = [argument[0] for argument in arguments if argument]
            try:
                return [getattr(text, name)(*words) for text in self.texts(base)]
            except TypeError:  # too many arguments: the program raises here
                return UNKNOWN
        own = self._calls.definition(method)
        return self._returned(own) if own is not None else UNKNOWN

    def _part(self, node: ast.Subscript) -> Iterable[str]:
        if isinstance(node.slice, ast.Slice):
            bounds = [_integer(part) for part in (node.slice.lower, node.slice.upper, node.slice.step)]
            if all(known for known, _ in bounds):
                lower, upper, step = (value for _, value in bounds)
                if step != 0:
                    return [text[lower:upper:step] for text in self.texts(node.value) if HOLE not in text] or UNKNOWN
            return UNKNOWN
        if isinstance(node.value, ast.Dict):
            wanted = self.exact(node.slice)
            pairs = zip(node.value.keys, node.value.values, strict=True)
            chosen = [value for key, value in pairs if wanted is None or self.exact(key) == wanted]
            return itertools.chain.from_iterable(map(self.texts, chosen)) if chosen else UNKNOWN
        if isinstance(node.value, ast.Name):
            looked_up = self._tree.scope(node.value).look_up(node.value.id)
            if looked_up and len(looked_up[1]) == 1 and isinstance(looked_up[1][0].node, ast.Dict):
                values = looked_up[1][0].node.values
                return (*itertools.chain.from_iterable(map(self.texts, values)),) or UNKNOWN
        elements = self.elements(node.value)
        known, index = _integer(node.slice)
        if elements is not None and known and isinstance(index, int) and -len(elements) <= index < len(elements):
            return self.texts(elements[index])
        if known and isinstance(index, int):
            return [
                text[index] for text in self.texts(node.value) if HOLE not in text and -len(text) <= index < len(text)
            ] or UNKNOWN
        return UNKNOWN


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("latin-1")[: _LONGEST + 1]
    return value[: _LONGEST + 1] if isinstance(value, str) else str(value) if isinstance(value, int) else HOLE


def _few(found: Iterable[str]) -> tuple[str, ...]:
    texts = tuple(dict.fromkeys(itertools.islice(found, 4 * _MOST)))
    return UNKNOWN if len(texts) > _MOST or any(len(text) > _LONGEST for text in texts) else texts or UNKNOWN


def _filled(formats: Iterable[str], mark: str, values: list[tuple[str, ...]]) -> Iterable[str]:
    """A format with its plain marks filled in order; every other mark is a hole."""
    found = []
    for text in formats:
        for chosen in itertools.islice(itertools.product(*values), _MOST + 1):
            filled = text
            for value in chosen:
                filled = filled.replace(mark, value, 1)
            if mark == "{}":
                pieces = filled.split("{")
                filled = pieces[0] + "".join(HOLE + piece.partition("}")[2] for piece in pieces[1:])
            elif "%" in filled:
                filled = HOLE
            found.append(filled)
    return found


def _decoded(full: str, text: str) -> str:
    try:
        data = base64.b64decode(text) if full == "base64.b64decode" else bytes.fromhex(text)
    except (ValueError, binascii.Error):
        return HOLE
    return data.decode("latin-1")


def _integer(node: ast.AST | None) -> tuple[bool, int | None]:
    """(whether a bound is a written number or left out, its value)."""
    if node is None:
        return True, None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        return (True, -value) if isinstance(value, int) else (False, None)
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return True, node.value
    return False, None

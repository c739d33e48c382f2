"""Exact evaluation of pure code, over the syntax tree and never by running source.

A value is computed only where every Python on every machine computes the same bits: integers, strings, containers,
comparisons, and the float operations that IEEE 754 rounds correctly. Powers and logarithms of floats are left to the
program.

    Evaluator(Run()).evaluate(node)      an expression
    Frame(Run(), {"n": 3}).run(body)     a function's body
"""

from __future__ import annotations

import argparse
import ast
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

STEPS = 200_000  # code that takes more is not code that a reader can follow either
SIZE = 65_536  # longest string or tuple that may come out
DEPTH = 60  # calls inside of calls


class UnknownValueError(Exception):
    """The value cannot be told exactly; `node` is the part that could not be evaluated."""

    def __init__(self, node: ast.AST, why: str) -> None:
        super().__init__(why)
        self.node = node
        self.why = why


class RaisedError(Exception):
    """The evaluated code raises: the exception's name, its message if known, and the place that raises it."""

    def __init__(self, node: ast.AST, name: str, message: str, kind: type[BaseException] | None = None) -> None:
        super().__init__(f"{name}: {message}")
        self.node = node
        self.name = name
        self.message = message
        self.kind = kind  # None: a class of the recipe's own, or one that is not known


class _ReturnSignal(Exception):  # noqa: N818  (no error: how a `return` leaves the blocks around it)
    def __init__(self, value: Any) -> None:
        self.value = value


class _LoopSignal(Exception):  # noqa: N818
    def __init__(self, breaks: bool) -> None:
        self.breaks = breaks


class Run:
    """One evaluation: its budget of steps, the knobs that had a part in it, and the objects that it made.

    Only objects that an evaluation made itself may be changed by it.
    """

    def __init__(self) -> None:
        self.steps = 0
        self.depth = 0
        self.used: dict[str, None] = {}  # knobs, in order of use
        self.read: list[str] = []  # environment variables read on the way, not those behind values known before
        self._made: dict[int, tuple[Any, int]] = {}
        self.made = 0  # how many objects were made so far
        self.oldest_changed = math.inf  # the number of the oldest object that was changed

    def step(self, node: ast.AST) -> None:
        """Count one step; raises UnknownValueError when there are too many."""
        self.steps += 1
        if self.steps > STEPS:
            raise UnknownValueError(node, f"more than {STEPS} steps")

    def use(self, *knobs: str) -> None:
        """Note that knobs have a part in the value."""
        self.used.update(dict.fromkeys(knobs))

    def own(self, value: Any) -> Any:
        """Note that this evaluation made an object."""
        if isinstance(value, MUTABLE) and id(value) not in self._made:
            self._made[id(value)] = value, self.made
            self.made += 1
        return value

    def owns(self, value: Any) -> bool:
        """Whether this evaluation made an object."""
        return id(value) in self._made

    def change(self, value: Any) -> None:
        """Note that an object changes which this evaluation made."""
        self.oldest_changed = min(self.oldest_changed, self._made[id(value)][1])


BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
}
UNARY: dict[type, Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
COMPARE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


def _sum(items: Any, start: Any = 0) -> Any:
    """Sums of whole numbers; those of floats differ between versions of Python."""
    items = list(items)
    if not all(isinstance(item, int) for item in (*items, start)):
        raise _Inexact("a sum of floats may differ in its last bit between versions")
    return sum(items, start)


class _Inexact(Exception):  # noqa: N818  (turned into UnknownValueError at once)
    pass


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "all": all,
    "any": any,
    "bool": bool,
    "chr": chr,
    "dict": dict,
    "divmod": divmod,
    "enumerate": lambda *a, **k: list(enumerate(*a, **k)),
    "float": float,
    "frozenset": frozenset,
    "int": int,
    "len": len,
    "list": list,
    "max": max,
    "min": min,
    "ord": ord,
    "range": range,
    "repr": repr,
    "reversed": lambda a: list(reversed(a)),
    "round": round,
    "set": set,
    "sorted": sorted,
    "str": str,
    "sum": _sum,
    "tuple": tuple,
    "zip": lambda *a, **k: list(zip(*a, **k)),  # noqa: B905
}
# Correctly rounded or integer: the same bits with every C library.
MATH: dict[str, Any] = {
    name: getattr(math, name)
    for name in (
        "ceil",
        "comb",
        "fabs",
        "floor",
        "gcd",
        "inf",
        "isfinite",
        "isinf",
        "isnan",
        "isqrt",
        "lcm",
        "nan",
        "pi",
        "prod",
        "sqrt",
        "trunc",
    )
}
TEXT_METHODS = frozenset(
    {
        "capitalize",
        "count",
        "endswith",
        "find",
        "format",
        "index",
        "isalnum",
        "isalpha",
        "isdecimal",
        "isdigit",
        "isidentifier",
        "islower",
        "isnumeric",
        "isspace",
        "isupper",
        "join",
        "ljust",
        "lower",
        "lstrip",
        "partition",
        "removeprefix",
        "removesuffix",
        "replace",
        "rfind",
        "rjust",
        "rpartition",
        "rsplit",
        "rstrip",
        "split",
        "splitlines",
        "startswith",
        "strip",
        "swapcase",
        "title",
        "upper",
        "zfill",
    }
)
UNICODE_METHODS = frozenset(  # they ask a table that differs between versions
    name
    for name in TEXT_METHODS
    if name.startswith("is") or name in ("capitalize", "lower", "swapcase", "title", "upper")
)
READING: dict[type, frozenset[str]] = {
    dict: frozenset({"copy", "get", "items", "keys", "values"}),
    tuple: frozenset({"count", "index"}),
    list: frozenset({"copy", "count", "index"}),
    set: frozenset({"copy", "difference", "intersection", "isdisjoint", "issubset", "issuperset", "union"}),
    frozenset: frozenset({"difference", "intersection", "isdisjoint", "issubset", "issuperset", "union"}),
    int: frozenset({"bit_count", "bit_length"}),
    float: frozenset({"is_integer"}),
    argparse.ArgumentParser: frozenset({"parse_args", "parse_known_args", "get_default"}),
}
READING_NAMES = frozenset().union(*READING.values())
CHANGING: dict[type, frozenset[str]] = {
    dict: frozenset({"clear", "pop", "setdefault", "update"}),
    list: frozenset({"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"}),
    set: frozenset({"add", "clear", "discard", "remove", "update"}),
    argparse.ArgumentParser: frozenset(
        {"add_argument", "add_argument_group", "add_mutually_exclusive_group", "set_defaults"}
    ),
    argparse._ArgumentGroup: frozenset({"add_argument", "add_argument_group", "add_mutually_exclusive_group"}),
    argparse.Action: frozenset(),
}
PARSERS = (argparse.ArgumentParser, argparse._ArgumentGroup, argparse._SubParsersAction)
MUTABLE = (dict, list, set, *PARSERS, argparse.Namespace)
METHODS: dict[type, str] = {
    ast.Attribute: "_attribute",
    ast.BinOp: "_bin_op",
    ast.BoolOp: "_bool_op",
    ast.Call: "_call",
    ast.Compare: "_compare",
    ast.Constant: "_constant",
    ast.Dict: "_dict",
    ast.DictComp: "_dict_comprehension",
    ast.FormattedValue: "_formatted_value",
    ast.GeneratorExp: "_list_comprehension",
    ast.IfExp: "_if_exp",
    ast.JoinedStr: "_joined_str",
    ast.Lambda: "_lambda",
    ast.List: "_list",
    ast.ListComp: "_list_comprehension",
    ast.Name: "_read_name",
    ast.NamedExpr: "_named",
    ast.Set: "_set",
    ast.SetComp: "_set_comprehension",
    ast.Slice: "_slice",
    ast.Subscript: "_subscript",
    ast.Tuple: "_tuple",
    ast.UnaryOp: "_unary_op",
}
PLAIN = (bool, int, float, str, bytes, type(None))
EXCEPTIONS: dict[str, type[BaseException]] = {
    kind.__name__: kind
    for kind in (
        ArithmeticError,
        AssertionError,
        AttributeError,
        BaseException,
        Exception,
        IndexError,
        KeyError,
        LookupError,
        NotImplementedError,
        OverflowError,
        RuntimeError,
        SystemExit,
        TypeError,
        ValueError,
        ZeroDivisionError,
    )
}


def is_constant(value: Any) -> bool:
    """Whether a value can neither change nor be told from an equal one: plain values, and tuples of them."""
    return isinstance(value, PLAIN) or (isinstance(value, tuple) and all(map(is_constant, value)))


class Evaluator:
    """Evaluates expressions. Subclasses say what names, attributes and calls outside of the expression mean."""

    def __init__(self, run: Run | None = None) -> None:
        self.context = run or Run()
        self.variables: dict[str, Any] = {}

    # What a subclass may know

    def name(self, node: ast.Name) -> Any:
        """The value of a name that is not among the variables; raises UnknownValueError."""
        raise UnknownValueError(node, f"the value of `{node.id}` is not known")

    def attribute(self, node: ast.Attribute) -> Any:
        """The value of an attribute of something that is not evaluated; raises UnknownValueError."""
        raise UnknownValueError(node, f"the value of `.{node.attr}` is not known")

    def member(self, node: ast.Attribute, owner: Any) -> Any:
        """The value of an attribute of a known value that is no method of it."""
        if isinstance(owner, argparse.Namespace):
            try:
                return vars(owner)[node.attr]
            except KeyError as error:
                raise RaisedError(node, "AttributeError", f"no option `{node.attr}`", AttributeError) from error
        raise UnknownValueError(node, f"the value of `.{node.attr}` is not known")

    def function(self, node: ast.expr) -> Callable[..., Any] | None:
        """The function that a call's `func` stands for: a builtin or a function of math."""
        if isinstance(node, ast.Name):
            return FUNCTIONS.get(node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "math":
            found = MATH.get(node.attr)
            return found if callable(found) else None
        return None

    # Expressions

    def evaluate(self, node: ast.expr) -> Any:
        """The exact value of an expression.

        Raises UnknownValueError where it cannot be told, and RaisedError for an expression that raises when it is
        evaluated.
        """
        self.context.step(node)
        if type(node) not in METHODS:
            raise UnknownValueError(node, f"{type(node).__name__} expressions are not evaluated")
        value = getattr(self, METHODS[type(node)])(node)
        if isinstance(value, (str, bytes, tuple, list)) and len(value) > SIZE:
            raise UnknownValueError(node, "the value is too long")
        if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > SIZE:
            raise UnknownValueError(node, "the value is too large")
        return value

    def _constant(self, node: ast.Constant) -> Any:
        if not isinstance(node.value, (*PLAIN, type(...))):
            raise UnknownValueError(node, "a constant of this type is not evaluated")
        return node.value

    def _read_name(self, node: ast.Name) -> Any:
        if node.id in self.variables:
            value = self.variables[node.id]
            if value is UNKNOWN:
                raise UnknownValueError(node, f"the value of `{node.id}` is not known")
            return value
        return self.name(node)

    def _attribute(self, node: ast.Attribute) -> Any:
        try:
            owner = self.evaluate(node.value)
        except UnknownValueError:
            return self.attribute(node)
        return self.member(node, owner)

    def _tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self._items(node.elts))

    def _list(self, node: ast.List) -> Any:
        return self.context.own(self._items(node.elts))

    def _set(self, node: ast.Set) -> Any:
        return self.context.own(self._compute(node, set, self._items(node.elts)))

    def _items(self, nodes: list[ast.expr]) -> list[Any]:
        values: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                values.extend(self.iterate(node, self.evaluate(node.value)))
            else:
                values.append(self.evaluate(node))
        return values

    def _dict(self, node: ast.Dict) -> Any:
        result: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                self._compute(node, result.update, self.evaluate(value))
            else:
                self._compute(node, result.__setitem__, self.evaluate(key), self.evaluate(value))
        return self.context.own(result)

    def _compute(self, node: ast.AST, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        try:
            return self.context.own(function(*arguments, **named))
        except _Inexact as error:
            raise UnknownValueError(node, str(error)) from error
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise RaisedError(node, type(error).__name__, str(error), type(error)) from error

    def _bin_op(self, node: ast.BinOp) -> Any:
        return self.binary(node, node.op, self.evaluate(node.left), self.evaluate(node.right))

    def binary(self, node: ast.AST, op: ast.operator, left: Any, right: Any) -> Any:
        """The value of a binary operation."""
        if isinstance(op, ast.Pow):
            if not (type(left) is int and type(right) is int and 0 <= right <= 1024):
                raise UnknownValueError(node, "a power of floats may differ in its last bit between machines")
            return left**right
        if type(op) not in BINARY:
            raise UnknownValueError(node, "this operator is not evaluated")
        if isinstance(op, ast.LShift) and isinstance(right, int) and right > SIZE:
            raise UnknownValueError(node, "the value is too large")
        if isinstance(op, ast.Mult) and (isinstance(left, (str, tuple, list)) or isinstance(right, (str, tuple, list))):
            count, sequence = (left, right) if isinstance(left, int) else (right, left)
            if not isinstance(count, int) or count * len(sequence) > SIZE:
                raise UnknownValueError(node, "the value is too long")
        if not all(isinstance(value, (*PLAIN, tuple, list, dict, set, frozenset)) for value in (left, right)):
            raise UnknownValueError(node, "this operation is not evaluated")
        return self._compute(node, BINARY[type(op)], left, right)

    def _unary_op(self, node: ast.UnaryOp) -> Any:
        operand = self.evaluate(node.operand)
        if isinstance(node.op, ast.Not):
            return not self.truth(node.operand, operand)
        return self._compute(node, UNARY[type(node.op)], operand)

    def truth(self, node: ast.AST, value: Any) -> bool:
        """Whether a value counts as true."""
        if not isinstance(value, (*PLAIN, tuple, list, dict, set, frozenset, range)):
            raise UnknownValueError(node, "the truth of such a value is not known")
        return bool(value)

    def _bool_op(self, node: ast.BoolOp) -> Any:
        value: Any = None
        for i, operand in enumerate(node.values):
            value = self.evaluate(operand)
            if i + 1 < len(node.values) and self.truth(operand, value) is isinstance(node.op, ast.Or):
                break
        return value

    def _compare(self, node: ast.Compare) -> bool:
        left = self.evaluate(node.left)
        for comparison, operand in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(operand)
            if isinstance(comparison, (ast.Is, ast.IsNot)):
                single = any(value is None or isinstance(value, bool) for value in (left, right))
                if not single and not (isinstance(left, type) and isinstance(right, type)):
                    raise UnknownValueError(node, "the identity of such values is not defined")
                result = (left is right) is isinstance(comparison, ast.Is)
            else:
                result = bool(self.compare(node, comparison, left, right))
            if not result:
                return False
            left = right
        return True

    def compare(self, node: ast.Compare, op: ast.cmpop, left: Any, right: Any) -> Any:
        """The value of one comparison."""
        data = (*PLAIN, tuple, list, dict, set, frozenset, range)
        if not all(isinstance(value, data) for value in (left, right)):
            raise UnknownValueError(node, "this comparison is not evaluated")
        return self._compute(node, COMPARE[type(op)], left, right)

    def _if_exp(self, node: ast.IfExp) -> Any:
        return self.evaluate(node.body if self.truth(node.test, self.evaluate(node.test)) else node.orelse)

    def _subscript(self, node: ast.Subscript) -> Any:
        return self.item(node, self.evaluate(node.value), self.evaluate(node.slice))

    def item(self, node: ast.Subscript, owner: Any, key: Any) -> Any:
        """The value of `owner[key]`."""
        return self._compute(node, operator.getitem, owner, key)

    def _slice(self, node: ast.Slice) -> slice:
        return slice(*(self.evaluate(part) if part else None for part in (node.lower, node.upper, node.step)))

    def _joined_str(self, node: ast.JoinedStr) -> str:
        return "".join(str(self.evaluate(part)) for part in node.values)

    def _formatted_value(self, node: ast.FormattedValue) -> str:
        value = self.evaluate(node.value)
        self.shown(node, value)
        if node.conversion in (ord("r"), ord("a")):
            value = (repr if node.conversion == ord("r") else ascii)(value)
        form = self.evaluate(node.format_spec) if node.format_spec else ""
        return str(self._compute(node, format, value, form))

    def shown(self, node: ast.AST, *values: Any) -> None:
        """Refuse to write out what has no text that is the same everywhere."""
        for value in values:
            if isinstance(value, (tuple, list)):
                self.shown(node, *value)
            elif isinstance(value, dict):
                self.shown(node, *value, *value.values())
            elif not isinstance(value, (*PLAIN, range, BaseException)):
                raise UnknownValueError(node, "the text of such a value is not known")

    def _named(self, node: ast.NamedExpr) -> Any:
        raise UnknownValueError(node, "an assignment inside an expression is not evaluated")

    def _lambda(self, node: ast.Lambda) -> Any:
        raise UnknownValueError(node, "a lambda is not evaluated here")

    # Comprehensions

    def _comprehend(self, node: ast.expr, generators: list[ast.comprehension]) -> Iterator[Evaluator]:
        """An evaluator for every turn of a comprehension, its targets bound."""
        if not generators:
            yield self
            return
        first, *others = generators
        if first.is_async:
            raise UnknownValueError(node, "an asynchronous comprehension is not evaluated")
        inner = self.nested()
        for value in self.iterate(first.iter, self.evaluate(first.iter)):
            inner.assign(first.target, value)
            if all(inner.truth(test, inner.evaluate(test)) for test in first.ifs):
                yield from inner._comprehend(node, others)

    def nested(self) -> Evaluator:
        """An evaluator for a comprehension: it sees these variables, and what it binds stays inside."""
        inner = object.__new__(type(self))
        inner.__dict__.update(self.__dict__)
        inner.variables = dict(self.variables)
        return inner

    def _list_comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> Any:
        return self.context.own([inner.evaluate(node.elt) for inner in self._comprehend(node, node.generators)])

    def _set_comprehension(self, node: ast.SetComp) -> Any:
        items = [inner.evaluate(node.elt) for inner in self._comprehend(node, node.generators)]
        return self._compute(node, set, items)

    def _dict_comprehension(self, node: ast.DictComp) -> Any:
        result: dict[Any, Any] = {}
        for inner in self._comprehend(node, node.generators):
            self._compute(node, result.__setitem__, inner.evaluate(node.key), inner.evaluate(node.value))
        return self.context.own(result)

    def assign(self, target: ast.expr, value: Any) -> None:
        """Bind a name, names of a tuple, or an item or attribute of an object that this evaluation made."""
        match target:
            case ast.Name():
                self.variables[target.id] = value
            case ast.Tuple() | ast.List():
                values = self.iterate(target, value)
                if any(isinstance(item, ast.Starred) for item in target.elts):
                    raise UnknownValueError(target, "such an assignment is not evaluated")
                if len(values) != len(target.elts):
                    raise RaisedError(target, "ValueError", "the number of values does not fit", ValueError)
                for item, part in zip(target.elts, values, strict=True):
                    self.assign(item, part)
            case ast.Subscript():
                owner, key = self.evaluate(target.value), self.evaluate(target.slice)
                if not (isinstance(owner, (dict, list)) and self.context.owns(owner)):
                    raise UnknownValueError(target, "such an assignment is not evaluated")
                self.context.change(owner)
                self._compute(target, operator.setitem, owner, key, value)
            case ast.Attribute():
                owner = self.evaluate(target.value)
                if not (isinstance(owner, argparse.Namespace) and self.context.owns(owner)):
                    raise UnknownValueError(target, "such an assignment is not evaluated")
                self.context.change(owner)
                setattr(owner, target.attr, value)
            case _:
                raise UnknownValueError(target, "such an assignment is not evaluated")

    # Calls

    def _call(self, node: ast.Call) -> Any:
        function = self.function(node.func)
        if function is None and isinstance(node.func, ast.Attribute):
            try:
                owner = self.evaluate(node.func.value)
            except UnknownValueError:
                owner = UNKNOWN
            function = self.method(node.func, owner) if owner is not UNKNOWN else None
        arguments = self._items(node.args)
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                named.update(self.unpacked(keyword.value))
            else:
                named[keyword.arg] = self.evaluate(keyword.value)
        if function is None:
            return self.call(node, arguments, named)
        self._check_arguments(node, function, arguments, named)
        if isinstance(getattr(function, "__self__", None), PARSERS):
            return self.command_line(node, function, arguments, named)
        return self._compute(node, function, *arguments, **named)

    def unpacked(self, node: ast.expr) -> dict[str, Any]:
        """The arguments that a call takes from `**value`."""
        value = self.evaluate(node)
        if not isinstance(value, dict):
            raise UnknownValueError(node, "what is unpacked here is no dictionary that is known")
        return value

    def call(self, node: ast.Call, arguments: list[Any], named: dict[str, Any]) -> Any:
        """The value of a call of something that is no builtin function or method; raises UnknownValueError."""
        raise UnknownValueError(node, "this call is not evaluated")

    def command_line(
        self, node: ast.Call, function: Callable[..., Any], arguments: list[Any], named: dict[str, Any]
    ) -> Any:
        """The value of a call of a method of a parser."""
        raise UnknownValueError(node, "this call is not evaluated")

    def method(self, node: ast.Attribute, owner: Any) -> Callable[..., Any] | None:
        """A method of a known value, None when it is none that is evaluated."""
        name = node.attr
        if isinstance(owner, str) and name in TEXT_METHODS:
            if name in UNICODE_METHODS and not owner.isascii():
                raise UnknownValueError(node, "what this gives for such text depends on the version of Python")
            return getattr(owner, name)  # type: ignore[no-any-return]
        for kind, names in READING.items():
            if isinstance(owner, kind) and name in names:
                return getattr(owner, name)  # type: ignore[no-any-return]
        for kind, names in CHANGING.items():
            if isinstance(owner, kind) and name in names:
                if not self.context.owns(owner):
                    raise UnknownValueError(node, "this changes a value that others see")
                self.context.change(owner)
                return getattr(owner, name)  # type: ignore[no-any-return]
        return None

    def _check_arguments(
        self, node: ast.Call, function: Callable[..., Any], arguments: list[Any], named: dict[str, Any]
    ) -> None:
        """Sets have no order, sorts no unknown one; texts of objects are not the same everywhere."""
        ordered = (len, sorted, min, max, bool, set, frozenset, any, all)
        owner = getattr(function, "__self__", None)
        if not isinstance(owner, (set, frozenset, *PARSERS)) and (
            function not in ordered and any(isinstance(value, (set, frozenset)) for value in arguments)
        ):
            raise UnknownValueError(node, "the order of a set is not known")
        if function in (str, repr) or isinstance(owner, str):
            self.shown(node, *arguments, *named.values())
        known = (*PLAIN, tuple, list, dict, set, frozenset, range)
        if owner is None and not all(isinstance(value, known) for value in arguments):
            raise UnknownValueError(node, "this call is not evaluated")

    def iterate(self, node: ast.AST, value: Any) -> list[Any]:
        """The items of a value that can be gone through in a known order."""
        if isinstance(value, range) and len(value) > STEPS:
            raise UnknownValueError(node, f"more than {STEPS} steps")
        if not isinstance(value, (tuple, list, str, range, dict)) and type(value).__name__ not in (
            "dict_items",
            "dict_keys",
            "dict_values",
        ):
            raise UnknownValueError(node, "iterating this value is not evaluated")
        return list(value)


class _Unknown:
    """A variable that is bound to something that is not known."""


UNKNOWN = _Unknown()


class Frame(Evaluator):
    """Evaluates the body of a small pure function: assignments, conditions, loops, try, return, raise, assert."""

    def __init__(self, variables: dict[str, Any], run: Run | None = None) -> None:
        super().__init__(run)
        self.variables = variables

    def run(self, body: list[ast.stmt]) -> Any:
        """Run a function's body; its return value. Raises UnknownValueError, and RaisedError where the code itself
        raises.
        """
        if self.context.depth >= DEPTH:
            raise UnknownValueError(body[0], f"more than {DEPTH} calls inside of calls")
        self.context.depth += 1
        try:
            self.block(body)
        except _ReturnSignal as result:
            return result.value
        finally:
            self.context.depth -= 1
        return None

    def block(self, body: list[ast.stmt]) -> None:
        """Run statements in order."""
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        """Run one statement."""
        self.context.step(node)
        match node:
            case ast.Return():
                raise _ReturnSignal(self.evaluate(node.value) if node.value else None)
            case ast.If():
                self.block(node.body if self.truth(node.test, self.evaluate(node.test)) else node.orelse)
            case ast.Assign():
                value = self.evaluate(node.value)
                for target in node.targets:
                    self.assign(target, value)
            case ast.AnnAssign(value=None, target=ast.Name()):
                pass
            case ast.AnnAssign(value=ast.expr() as value):
                self.assign(node.target, self.evaluate(value))
            case ast.AugAssign():
                self.augment(node)
            case ast.For() | ast.While():
                self.loop(node)
            case ast.Break() | ast.Continue():
                raise _LoopSignal(isinstance(node, ast.Break))
            case ast.Raise(exc=ast.expr() as exception):
                raise self.raised(node, exception)
            case ast.Try():
                self.attempt(node)
            case ast.Assert():
                if not self.truth(node.test, self.evaluate(node.test)):
                    message = str(self.evaluate(node.msg)) if node.msg else ast.unparse(node.test)
                    raise RaisedError(node, "AssertionError", message, AssertionError)
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr():
                self.evaluate(node.value)
            case ast.FunctionDef():
                self.define(node)
            case _:
                raise UnknownValueError(node, f"{type(node).__name__} statements are not evaluated")

    def define(self, node: ast.FunctionDef) -> None:
        """Bind a function that is defined inside of this one."""
        raise UnknownValueError(node, "a function inside of a function is not evaluated")

    def augment(self, node: ast.AugAssign) -> None:
        """`target op= value`, for values that the operation makes anew."""
        old = self.evaluate(_as_load(node.target))
        if isinstance(old, MUTABLE):
            raise UnknownValueError(node, "changing a value in place is not evaluated")
        self.assign(node.target, self.binary(node, node.op, old, self.evaluate(node.value)))

    def loop(self, node: ast.For | ast.While) -> None:
        """A loop, its `else` included."""
        items = iter(self.iterate(node.iter, self.evaluate(node.iter))) if isinstance(node, ast.For) else None
        while True:
            self.context.step(node)
            if isinstance(node, ast.While):
                if not self.truth(node.test, self.evaluate(node.test)):
                    break
            else:
                assert items is not None
                try:
                    value = next(items)
                except StopIteration:
                    break
                self.assign(node.target, value)
            try:
                self.block(node.body)
            except _LoopSignal as signal:
                if signal.breaks:
                    return
        self.block(node.orelse)

    def attempt(self, node: ast.Try) -> None:
        """`try` with its handlers and `else`."""
        if node.finalbody:
            raise UnknownValueError(node, "`finally` is not evaluated")
        try:
            self.block(node.body)
        except RaisedError as error:
            handler = self.handler(node, error)
            if handler is None:
                raise
            if handler.name:
                self.variables[handler.name] = (error.kind or Exception)(error.message)
            try:
                self.block(handler.body)
            finally:
                if handler.name:
                    self.variables.pop(handler.name, None)  # unbound behind the handler, as in Python
        else:
            self.block(node.orelse)

    def handler(self, node: ast.Try, error: RaisedError) -> ast.ExceptHandler | None:
        """The handler that catches an exception."""
        for handler in node.handlers:
            if handler.type is None:
                return handler
            kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
            for kind in kinds:
                known = self.exception(kind)
                if error.kind is None or known is None:
                    raise UnknownValueError(handler, "which exceptions this catches is not known")
                if issubclass(error.kind, known):
                    return handler
        return None

    def exception(self, node: ast.expr) -> type[BaseException] | None:
        """The exception class that an expression names; None for one that is not known."""
        return EXCEPTIONS.get(node.id) if isinstance(node, ast.Name) else None

    def raised(self, node: ast.Raise, exception: ast.expr) -> RaisedError:
        """What a `raise` statement raises."""
        name, message = ast.unparse(exception), ""
        kind = self.exception(exception)
        if isinstance(exception, ast.Call):
            name = ast.unparse(exception.func)
            kind = self.exception(exception.func)
            message = ", ".join(str(self.evaluate(argument)) for argument in exception.args)
        return RaisedError(node, name, message, kind)


def _as_load(target: ast.expr) -> ast.expr:
    """The expression that reads what an assignment's target names."""
    match target:
        case ast.Name():
            return ast.copy_location(ast.Name(target.id, ast.Load()), target)
        case ast.Attribute():
            return ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
        case ast.Subscript():
            return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
    raise UnknownValueError(target, "such an assignment is not evaluated")

"""Exact evaluation of pure expressions and small pure functions, over the syntax tree and never by running source.

A value is computed only where every Python on every machine computes the same bits: integers, strings, tuples,
comparisons, and the float operations that IEEE 754 rounds correctly. Powers and logarithms of floats are left to the
program.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

STEPS = 100_000  # a property or check that takes more is not one that a reader can follow either
SIZE = 65_536  # longest string or tuple that may come out


class UnknownValueError(Exception):
    """The value cannot be told exactly; `node` is the part that could not be evaluated."""

    def __init__(self, node: ast.AST, why: str) -> None:
        super().__init__(why)
        self.node = node
        self.why = why


class RaisedError(Exception):
    """The evaluated code raises: the exception's name, its message if known, and the `raise` statement."""

    def __init__(self, node: ast.AST, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.node = node
        self.name = name
        self.message = message


class _ReturnSignal(Exception):  # noqa: N818  (no error: how a `return` leaves the blocks around it)
    def __init__(self, value: Any) -> None:
        self.value = value


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
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "all": all,
    "any": any,
    "bool": bool,
    "dict": dict,
    "divmod": divmod,
    "enumerate": lambda *a, **k: list(enumerate(*a, **k)),
    "float": float,
    "int": int,
    "len": len,
    "list": list,
    "max": max,
    "min": min,
    "range": range,
    "repr": repr,
    "reversed": lambda a: list(reversed(a)),
    "round": round,
    "sorted": sorted,
    "str": str,
    "tuple": tuple,
    "zip": lambda *a, **k: list(zip(*a, **k)),  # noqa: B905
}
# Correctly rounded or integer: the same bits with every C library.
MATH: dict[str, Callable[..., Any]] = {
    name: getattr(math, name)
    for name in (
        "ceil",
        "comb",
        "fabs",
        "floor",
        "gcd",
        "isfinite",
        "isinf",
        "isnan",
        "isqrt",
        "lcm",
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
        "isdigit",
        "join",
        "lower",
        "lstrip",
        "partition",
        "removeprefix",
        "removesuffix",
        "replace",
        "rpartition",
        "rsplit",
        "rstrip",
        "split",
        "splitlines",
        "startswith",
        "strip",
        "title",
        "upper",
        "zfill",
    }
)
OTHER_METHODS: dict[type, frozenset[str]] = {
    dict: frozenset({"get", "keys", "values", "items"}),
    tuple: frozenset({"index", "count"}),
    list: frozenset({"index", "count"}),
}
METHODS: dict[type, str] = {
    ast.Attribute: "_read_attribute",
    ast.BinOp: "_bin_op",
    ast.BoolOp: "_bool_op",
    ast.Call: "_call",
    ast.Compare: "_compare",
    ast.Constant: "_constant",
    ast.Dict: "_dict",
    ast.FormattedValue: "_formatted_value",
    ast.IfExp: "_if_exp",
    ast.JoinedStr: "_joined_str",
    ast.List: "_list",
    ast.Name: "_read_name",
    ast.Slice: "_slice",
    ast.Subscript: "_subscript",
    ast.Tuple: "_tuple",
    ast.UnaryOp: "_unary_op",
}
PLAIN = (bool, int, float, str, bytes, type(None))


class Evaluator:
    """Evaluates expressions. Subclasses say what names, attributes and calls outside of the expression mean."""

    def __init__(self) -> None:
        self.steps = 0

    # What a subclass may know

    def name(self, node: ast.Name) -> Any:
        """The value of a name; raises UnknownValueError."""
        raise UnknownValueError(node, f"the value of `{node.id}` is not known")

    def attribute(self, node: ast.Attribute) -> Any:
        """The value of an attribute; raises UnknownValueError."""
        raise UnknownValueError(node, f"the value of `.{node.attr}` is not known")

    def function(self, node: ast.expr) -> Callable[..., Any] | None:
        """The function that a call's `func` stands for: a builtin or a function of math."""
        if isinstance(node, ast.Name):
            return FUNCTIONS.get(node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "math":
            return MATH.get(node.attr)
        return None

    # Expressions

    def evaluate(self, node: ast.expr) -> Any:
        """The exact value of an expression.

        Raises UnknownValueError where it cannot be told, and for an expression that raises when it is evaluated.
        """
        self.steps += 1
        if self.steps > STEPS:
            raise UnknownValueError(node, f"more than {STEPS} steps")
        if type(node) not in METHODS:
            raise UnknownValueError(node, f"{type(node).__name__} expressions are not evaluated")
        value = getattr(self, METHODS[type(node)])(node)
        if isinstance(value, (str, bytes, tuple, list)) and len(value) > SIZE:
            raise UnknownValueError(node, "the value is too long")
        if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > SIZE:
            raise UnknownValueError(node, "the value is too large")
        return value

    def _constant(self, node: ast.Constant) -> Any:
        if not isinstance(node.value, PLAIN):
            raise UnknownValueError(node, "a constant of this type is not evaluated")
        return node.value

    def _read_name(self, node: ast.Name) -> Any:
        return self.name(node)

    def _read_attribute(self, node: ast.Attribute) -> Any:
        return self.attribute(node)

    def _tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self._items(node.elts))

    def _list(self, node: ast.List) -> list[Any]:
        return self._items(node.elts)

    def _items(self, nodes: list[ast.expr]) -> list[Any]:
        values: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                values.extend(self._iterate(node, self.evaluate(node.value)))
            else:
                values.append(self.evaluate(node))
        return values

    def _dict(self, node: ast.Dict) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                result.update(self.evaluate(value))
            else:
                result[self.evaluate(key)] = self.evaluate(value)
        return result

    def _compute(self, node: ast.AST, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise UnknownValueError(node, f"raises {type(error).__name__}: {error}") from error

    def _bin_op(self, node: ast.BinOp) -> Any:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        if isinstance(node.op, ast.Pow):
            if not (type(left) is int and type(right) is int and 0 <= right <= 1024):
                raise UnknownValueError(node, "a power of floats may differ in its last bit between machines")
            return left**right
        if type(node.op) not in BINARY:
            raise UnknownValueError(node, "this operator is not evaluated")
        if isinstance(node.op, ast.LShift) and isinstance(right, int) and right > SIZE:
            raise UnknownValueError(node, "the value is too large")
        if isinstance(node.op, ast.Mult) and (
            isinstance(left, (str, tuple, list)) or isinstance(right, (str, tuple, list))
        ):
            count, sequence = (left, right) if isinstance(left, int) else (right, left)
            if not isinstance(count, int) or count * len(sequence) > SIZE:
                raise UnknownValueError(node, "the value is too long")
        if isinstance(left, str) and isinstance(node.op, ast.Mod):
            raise UnknownValueError(node, "formatting by % is not evaluated")
        return self._compute(node, BINARY[type(node.op)], left, right)

    def _unary_op(self, node: ast.UnaryOp) -> Any:
        return self._compute(node, UNARY[type(node.op)], self.evaluate(node.operand))

    def _bool_op(self, node: ast.BoolOp) -> Any:
        value: Any = None
        for operand in node.values:
            value = self.evaluate(operand)
            if bool(value) is isinstance(node.op, ast.Or):
                break
        return value

    def _compare(self, node: ast.Compare) -> bool:
        left = self.evaluate(node.left)
        for comparison, operand in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(operand)
            if isinstance(comparison, (ast.Is, ast.IsNot)):
                if not any(value is None or isinstance(value, bool) for value in (left, right)):
                    raise UnknownValueError(node, "the identity of such values is not defined")
                result = (left is right) is isinstance(comparison, ast.Is)
            else:
                result = bool(self._compute(node, COMPARE[type(comparison)], left, right))
            if not result:
                return False
            left = right
        return True

    def _if_exp(self, node: ast.IfExp) -> Any:
        return self.evaluate(node.body if self.evaluate(node.test) else node.orelse)

    def _subscript(self, node: ast.Subscript) -> Any:
        return self._compute(node, operator.getitem, self.evaluate(node.value), self.evaluate(node.slice))

    def _slice(self, node: ast.Slice) -> slice:
        return slice(*(self.evaluate(part) if part else None for part in (node.lower, node.upper, node.step)))

    def _joined_str(self, node: ast.JoinedStr) -> str:
        return "".join(str(self.evaluate(part)) for part in node.values)

    def _formatted_value(self, node: ast.FormattedValue) -> str:
        value = self.evaluate(node.value)
        if node.conversion in (ord("r"), ord("a")):
            value = (repr if node.conversion == ord("r") else ascii)(value)
        form = self.evaluate(node.format_spec) if node.format_spec else ""
        return str(self._compute(node, format, value, form))

    def _call(self, node: ast.Call) -> Any:
        arguments = self._items(node.args)
        named = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                named.update(self.evaluate(keyword.value))
            else:
                named[keyword.arg] = self.evaluate(keyword.value)
        function = self.function(node.func)
        if function is None and isinstance(node.func, ast.Attribute):
            owner = self.evaluate(node.func.value)
            allowed: frozenset[str] = (
                TEXT_METHODS if isinstance(owner, str) else OTHER_METHODS.get(type(owner), frozenset())
            )
            if node.func.attr in allowed:
                function = getattr(owner, node.func.attr)
        if function is None:
            raise UnknownValueError(node, "this call is not evaluated")
        return self._compute(node, function, *arguments, **named)

    def _iterate(self, node: ast.AST, value: Any) -> list[Any]:
        if isinstance(value, range) and len(value) > STEPS:
            raise UnknownValueError(node, f"more than {STEPS} steps")
        if not isinstance(value, (tuple, list, str, range, dict)) and type(value).__name__ not in (
            "dict_items",
            "dict_keys",
            "dict_values",
        ):
            raise UnknownValueError(node, "iterating this value is not evaluated")
        return list(value)


class Frame(Evaluator):
    """Evaluates the body of a small pure function: assignments to names, conditions, loops, return, raise, assert."""

    def __init__(self, variables: dict[str, Any]) -> None:
        super().__init__()
        self.variables = variables

    def name(self, node: ast.Name) -> Any:
        """Local variables first."""
        if node.id in self.variables:
            return self.variables[node.id]
        return self.outer(node)

    def outer(self, node: ast.Name) -> Any:
        """A name that is no local variable."""
        return super().name(node)

    def run(self, body: list[ast.stmt]) -> Any:
        """Run a function's body; its return value. Raises UnknownValueError, and RaisedError where the code itself
        raises.
        """
        try:
            self.block(body)
        except _ReturnSignal as result:
            return result.value
        return None

    def block(self, body: list[ast.stmt]) -> None:
        """Run statements in order."""
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        """Run one statement."""
        match node:
            case ast.Return():
                raise _ReturnSignal(self.evaluate(node.value) if node.value else None)
            case ast.If():
                self.block(node.body if self.evaluate(node.test) else node.orelse)
            case ast.Assign(targets=[target]):
                self.assign(target, self.evaluate(node.value))
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                self.assign(target, self.evaluate(value))
            case ast.AugAssign(target=ast.Name() as target):
                load = ast.Name(target.id, ast.Load())
                self.assign(target, self._bin_op(ast.BinOp(load, node.op, node.value)))
            case ast.For(orelse=[]):
                for value in self._iterate(node, self.evaluate(node.iter)):
                    self.assign(node.target, value)
                    self.block(node.body)
            case ast.Raise(exc=ast.expr() as exception):
                raise self.raised(node, exception)
            case ast.Assert():
                if not self.evaluate(node.test):
                    message = str(self.evaluate(node.msg)) if node.msg else ast.unparse(node.test)
                    raise RaisedError(node, "AssertionError", message)
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case _:
                raise UnknownValueError(node, f"{type(node).__name__} statements are not evaluated")

    def raised(self, node: ast.Raise, exception: ast.expr) -> RaisedError:
        """What a `raise` statement raises."""
        name, message = ast.unparse(exception), ""
        if isinstance(exception, ast.Call):
            name = ast.unparse(exception.func)
            message = ", ".join(str(self.evaluate(argument)) for argument in exception.args)
        return RaisedError(node, name, message)

    def assign(self, target: ast.expr, value: Any) -> None:
        """Bind a name, or names of a tuple."""
        match target:
            case ast.Name():
                self.variables[target.id] = value
            case ast.Tuple() | ast.List():
                values = self._iterate(target, value)
                if len(values) != len(target.elts):
                    raise UnknownValueError(target, "the number of values does not fit")
                for item, part in zip(target.elts, values, strict=True):
                    self.assign(item, part)
            case _:
                raise UnknownValueError(target, "such an assignment is not evaluated")

"""The kinds of change: each looks at one node of a syntax tree and gives edits of the source's text.

An edit keeps the number of lines, so that the lines of a mutant are those of the clean recipe.
"""

from __future__ import annotations

import ast
import collections
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

NUDGE = 1 + 2**-6
"""Factor of a changed number: small, and yet seen by a product in bfloat16 (8 bits)."""

ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "//"),
    ast.Pow: ("**", "*"),
}
ORDER: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
NAMES = {
    "add": "subtract",
    "subtract": "add",
    "multiply": "add",
    "maximum": "minimum",
    "max": "min",
    "min": "max",
    "equal": "less",
    "tanh": "exp",
    "exp": "tanh",
    "log": "sqrt",
    "rsqrt": "sqrt",
    "sqrt": "square",
    "square": "sqrt",
    "zeros_like": "ones_like",
    "zeros_": "ones_",
    "ones": "zeros",
    "uniform_": "normal_",
    "normal_": "uniform_",
    "float32": "bfloat16",
    "bfloat16": "float32",
    "int32": "float32",
    "cos": "sin",
    "sin": "cos",
    "append": "remove",
    "state_dict": "named_parameters",
    "eval": "train",
    "sum": "mean",
    "mT": "T",
}
"""Attributes that stand for something of the same kind."""


@dataclass(frozen=True)
class Edit:
    """A range of a text, in characters, and what it becomes; `span` are the lines of the statements that it changes."""

    start: int
    end: int
    text: str
    span: tuple[int, int]

    def apply(self, source: str) -> str:
        """The whole text after the edit."""
        return source[: self.start] + self.text + source[self.end :]


class Tree:
    """A module's syntax tree with what edits need: offsets, parents, the statement and function around each node."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.root = ast.parse(source)
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._lines = [line.encode() for line in source.splitlines(keepends=True)]
        self.parents = {id(child): node for node in ast.walk(self.root) for child in ast.iter_child_nodes(node)}

    def offset(self, line: int, column: int) -> int:
        """Character offset of a position as ast gives it: line from 1, column in bytes of UTF-8."""
        return self._starts[line - 1] + len(self._lines[line - 1][:column].decode())

    def range(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        """Character offsets of a node."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def text(self, node: ast.expr | ast.stmt | ast.keyword) -> str:
        """The source of a node."""
        start, end = self.range(node)
        return self.source[start:end]

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node that holds this one."""
        return self.parents.get(id(node))

    def around(self, node: ast.AST, *kinds: type[ast.AST]) -> ast.AST | None:
        """The innermost node of these kinds that is or holds this one."""
        current: ast.AST | None = node
        while current is not None and not isinstance(current, kinds):
            current = self.parent(current)
        return current

    def binds_alone(self, statement: ast.stmt) -> bool:
        """Whether a name that is read around is bound by this statement only: without it there is but an error."""
        scope = self.around(statement, ast.FunctionDef) or self.root
        names = [node for node in ast.walk(scope) if isinstance(node, ast.Name)]
        read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
        bound = collections.Counter(node.id for node in names if isinstance(node.ctx, ast.Store))
        own = {
            node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        return any(name in read and bound[name] == 1 for name in own)

    def span(self, node: ast.AST) -> tuple[int, int]:
        """First and last line of the statement that a node belongs to; of one with a body, of its header."""
        statement = self.around(node, ast.stmt)
        assert isinstance(statement, ast.stmt)
        body = getattr(statement, "body", None)
        if isinstance(body, list) and body:
            return statement.lineno, max(statement.lineno, body[0].lineno - 1)
        return statement.lineno, statement.end_lineno or statement.lineno

    def edit(self, node: ast.AST, start: int, end: int, text: str) -> Edit:
        """An edit within one statement. Line ends that would go are kept after it."""
        lost = self.source[start:end].count("\n") - text.count("\n")
        return Edit(start, end, text + "\n" * max(0, lost), self.span(node))

    def replace(self, node: ast.expr, text: str) -> Edit:
        """Put a text in the place of an expression."""
        return self.edit(node, *self.range(node), text)

    def token(self, node: ast.AST, start: int, end: int, old: str, new: str) -> Edit | None:
        """Replace the one operator that stands between two operands, outside of brackets and comments."""
        between = self.source[start:end]
        if between.count(old) != 1 or "#" in between:
            return None
        at = start + between.index(old)
        return self.edit(node, at, at + len(old), new)


Mutator = Callable[[Tree, ast.AST], Iterable[Edit | None]]


def arithmetic(tree: Tree, node: ast.AST) -> Iterator[Edit | None]:
    """Another arithmetic operator."""
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        old, new = ARITHMETIC[type(node.op)]
        yield tree.token(node, tree.range(node.left)[1], tree.range(node.right)[0], old, new)
    if isinstance(node, ast.AugAssign) and type(node.op) in ARITHMETIC:
        old, new = ARITHMETIC[type(node.op)]
        yield tree.token(node, tree.range(node.target)[1], tree.range(node.value)[0], f"{old}=", f"{new}=")


def comparison(tree: Tree, node: ast.AST) -> Iterator[Edit | None]:
    """A comparison that includes or leaves out its limit, or turns round."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        old, new = ORDER[type(node.ops[0])]
        yield tree.token(node, tree.range(node.left)[1], tree.range(node.comparators[0])[0], old, new)


def negated(tree: Tree, node: ast.AST) -> Iterator[Edit | None]:
    """A condition that decides the other way."""
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        yield tree.replace(node.test, f"not ({tree.text(node.test)})")
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield tree.replace(node, f"bool({tree.text(node.operand)})")


def logic(tree: Tree, node: ast.AST) -> Iterator[Edit | None]:
    """`and` for `or`, or the other way."""
    if isinstance(node, ast.BoolOp):
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in itertools.pairwise(node.values):
            yield tree.token(node, tree.range(left)[1], tree.range(right)[0], old, new)


def number(tree: Tree, node: ast.AST) -> Iterator[Edit | None]:
    """A constant a little larger; a truth value that is the other one."""
    if isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, bool):
            yield tree.replace(node, str(not value))
        elif isinstance(value, int):
            yield tree.replace(node, repr(value + 1))
        elif isinstance(value, float):
            yield tree.replace(node, repr(value * NUDGE if value else NUDGE - 1))


def sign(tree: Tree, node: ast.AST) -> Iterator[Edit | None]:
    """A minus that is not there."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        start = tree.range(node)[0]
        yield tree.edit(node, start, start + 1, "")


def argument_dropped(tree: Tree, node: ast.AST) -> Iterator[Edit | None]:
    """A call without one of its arguments: each keyword, or the last one by position."""
    if isinstance(node, ast.Call):
        given: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
        for index, one in enumerate(given):
            if isinstance(one, ast.Starred) or (isinstance(one, ast.keyword) and one.arg is None):
                continue
            if isinstance(one, ast.keyword) or (one is node.args[-1] and len(node.args) > 1):
                start, end = tree.range(one)
                if index + 1 < len(given):
                    end = tree.range(given[index + 1])[0]
                elif index:
                    start = tree.range(given[index - 1])[1]
                kept = "\n" * tree.source[start:end].count("\n")
                if "#" not in tree.source[start:end]:
                    yield tree.edit(node, start, end, kept)


def arguments_swapped(tree: Tree, node: ast.AST) -> Iterator[Edit | None]:
    """A call whose neighbouring arguments have changed places."""
    if isinstance(node, ast.Call):
        values = [*node.args, *(keyword.value for keyword in node.keywords)]
        for left, right in itertools.pairwise(values):
            if tree.text(left) != tree.text(right) and not isinstance(left, ast.Starred):
                yield _exchanged(tree, left, right)


def operands_swapped(tree: Tree, node: ast.AST) -> Iterator[Edit | None]:
    """A product, difference or quotient the other way round; elements of a tuple or list, too."""
    ordered = ast.Sub | ast.Div | ast.MatMult | ast.Pow | ast.FloorDiv
    if isinstance(node, ast.BinOp) and isinstance(node.op, ordered) and tree.text(node.left) != tree.text(node.right):
        yield _exchanged(tree, node.left, node.right)
    if isinstance(node, ast.Tuple | ast.List) and isinstance(node.ctx, ast.Load):
        for left, right in itertools.pairwise(node.elts):
            if tree.text(left) != tree.text(right):
                yield _exchanged(tree, left, right)


def statement_deleted(tree: Tree, node: ast.AST) -> Iterator[Edit | None]:
    """A statement that is not there."""
    if isinstance(node, ast.Expr | ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Continue | ast.Break):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return
        if not tree.binds_alone(node):
            yield tree.edit(node, *tree.range(node), "pass")


def statements_swapped(tree: Tree, node: ast.AST) -> Iterator[Edit | None]:
    """Two neighbouring statements in the other order."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if not isinstance(block, list) or isinstance(node, ast.Module | ast.ClassDef):
            continue
        for left, right in itertools.pairwise(block):
            simple = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return)
            docstring = isinstance(left, ast.Expr) and isinstance(left.value, ast.Constant)
            if not isinstance(left, simple) or not isinstance(right, simple) or docstring:
                continue
            read = {name.id for name in ast.walk(right) if isinstance(name, ast.Name)}
            bound = {
                name.id for name in ast.walk(left) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
            }
            if not (read & bound and tree.binds_alone(left)):
                yield _exchanged(tree, left, right)


def result_scaled(tree: Tree, node: ast.AST) -> Iterator[Edit | None]:
    """A returned value, or one that is given a name, a little larger."""
    number_like = (ast.Call, ast.BinOp, ast.Name, ast.Attribute, ast.Subscript, ast.IfExp)
    if isinstance(node, ast.Return | ast.Assign | ast.AnnAssign) and isinstance(node.value, number_like):
        yield tree.replace(node.value, f"({tree.text(node.value)}) * {NUDGE!r}")


def name_swapped(tree: Tree, node: ast.AST) -> Iterator[Edit | None]:
    """An attribute for another one of its kind."""
    if isinstance(node, ast.Attribute) and node.attr in NAMES:
        end = tree.range(node)[1]
        yield tree.edit(node, end - len(node.attr), end, NAMES[node.attr])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMES:
        yield tree.replace(node.func, NAMES[node.func.id])


def call_dropped(tree: Tree, node: ast.AST) -> Iterator[Edit | None]:
    """A method call or a conversion that is left out: `x.float()` becomes `x`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner = node.func.value
        module = isinstance(owner, ast.Name) and owner.id in (
            "F",
            "dist",
            "math",
            "nisa",
            "nl",
            "nn",
            "prepare",
            "torch",
        )
        if not module and not isinstance(tree.parent(node), ast.Expr):
            yield tree.edit(node, tree.range(owner)[1], tree.range(node)[1], "")


def loop_shortened(tree: Tree, node: ast.AST) -> Iterator[Edit | None]:
    """A loop, or a comprehension, without its last turn."""
    if isinstance(node, ast.For | ast.comprehension):
        yield tree.replace(node.iter, f"list({tree.text(node.iter)})[:-1]")


def decorator_dropped(tree: Tree, node: ast.AST) -> Iterator[Edit | None]:
    """A function without its decorator, a block without its `with`."""
    if isinstance(node, ast.FunctionDef):
        for one in node.decorator_list:
            start, end = tree.range(one)
            yield Edit(start - 1, end, "", (one.lineno, node.lineno))
    if isinstance(node, ast.With):
        start, end = tree.range(node)[0], tree.range(node.items[-1].context_expr)[1]
        yield tree.edit(node, start, end, "if True")


def _exchanged(tree: Tree, left: ast.expr | ast.stmt, right: ast.expr | ast.stmt) -> Edit | None:
    """Two parts that change places; None where that would change lines within brackets with comments."""
    (start, middle), (second, end) = tree.range(left), tree.range(right)
    text = tree.source[second:end] + tree.source[middle:second] + tree.source[start:middle]
    spans = (tree.span(left), tree.span(right))
    return Edit(start, end, text, (spans[0][0], max(last for _, last in spans)))


MUTATORS: dict[str, Mutator] = {
    mutator.__name__.replace("_", "-"): mutator
    for mutator in (
        arithmetic, comparison, negated, logic, number, sign, argument_dropped, arguments_swapped, operands_swapped,
        statement_deleted, statements_swapped, result_scaled, name_swapped, call_dropped, loop_shortened,
        decorator_dropped,
    )
}  # fmt: skip
"""Every kind of change by its name."""

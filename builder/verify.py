"""Phase 6, verify: prove the output before it is written, by means of its own: parse it again and compare it with the
sources.
"""

from __future__ import annotations

import ast
import builtins
from typing import Any

from builder import scopes
from builder.emit import Output
from builder.errors import BuildError, Problem
from builder.rewrite import Rewrite
from builder.scan import Part
from builder.source import Source
from scorer.contest import Profile

NEW_BUILTINS = frozenset(
    {"PythonFinalizationError", "aiter", "anext", "EncodingWarning", "BaseExceptionGroup", "ExceptionGroup"}
)
MODULE_NAMES = frozenset(
    {"__name__", "__doc__", "__file__", "__builtins__", "__annotations__", "__debug__", "__class__", "__dict__"}
)


def verify(output: Output, rewrites: dict[str, Rewrite], profile: Profile, hooks: tuple[str, ...]) -> None:
    """Raise BuildError unless the output is what it should be."""
    proof = _Proof(output, rewrites, profile)
    tree = proof.parse()
    proof.undefined(tree)
    proof.hooks(tree, hooks)
    proof.dataclasses(tree)
    proof.equal(tree)
    proof.size()
    if proof.problems:
        raise BuildError(proof.problems)


class _Proof:
    def __init__(self, output: Output, rewrites: dict[str, Rewrite], profile: Profile) -> None:
        self.output = output
        self.rewrites = rewrites
        self.profile = profile
        self.problems: list[Problem] = []

    def problem(self, line: int, code: str, message: str, remedy: str) -> None:
        place = self.output.places[line - 1] if 0 < line <= len(self.output.places) else None
        file, source_line = place or ("train.py", line)
        self.problems.append(Problem(file, source_line, code, message, remedy))

    def parse(self) -> ast.Module:
        major, minor = map(int, self.profile.machine.python.split("."))
        try:
            return ast.parse(self.output.text, feature_version=(major, minor))
        except SyntaxError as error:
            message = f"not valid under Python {self.profile.machine.python}: {error.msg}"
            self.problem(error.lineno or 0, "BLD043", message, "write it in that version's syntax")
            raise BuildError(self.problems) from error

    def undefined(self, tree: ast.Module) -> None:
        source = Source("train.py", self.output.text)
        scope = scopes.analyze(source, tree)
        known = set(dir(builtins)) - (NEW_BUILTINS - set(dir(builtins))) | MODULE_NAMES
        for occurrence in scope.occurrences:
            name = occurrence.name
            if occurrence.kind not in ("load", "delete", "type_load") or name in known or name in scope.bound:
                continue
            if occurrence.home() is scope:
                line = source.line(occurrence.start)
                self.problem(line, "BLD042", f"`{name}` is defined nowhere", "define or import it")

    def hooks(self, tree: ast.Module, hooks: tuple[str, ...]) -> None:
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        wanted = {hook.name: hook.parameters for hook in self.profile.hooks}
        for name in {**dict.fromkeys(hooks), **wanted}:
            node = functions.get(name)
            if node is None:
                self.problem(
                    0, "BLD040", f"the artifact has no function `{name}` at its top level", "define it in the entry"
                )
                continue
            parameters = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
            required = parameters[: len(parameters) - len(node.args.defaults)]
            expected = wanted.get(name)
            if expected is not None and (parameters[: len(expected)] != expected or len(required) > len(expected)):
                message = f"`{name}` takes ({', '.join(parameters)}), the contest calls it with ({', '.join(expected)})"
                self.problem(node.lineno, "BLD040", message, "give it these parameters, others only with defaults")

    def dataclasses(self, tree: ast.Module) -> None:
        """A dataclass with string annotations looks in sys.modules, where a file loaded by path may not be."""
        deferred = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
        names = {"dataclass", "dataclasses.dataclass"}
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == "dataclasses":
                names |= {alias.asname for alias in node.names if alias.name == "dataclass" and alias.asname}
        for found in ast.walk(tree):
            if not isinstance(found, ast.ClassDef):
                continue
            decorators = [ast.unparse(d.func if isinstance(d, ast.Call) else d) for d in found.decorator_list]
            if not names & set(decorators):
                continue
            for field in found.body:
                if isinstance(field, ast.AnnAssign) and (deferred or isinstance(field.annotation, ast.Constant)):
                    message = (
                        f"the dataclass {found.name} has string annotations: it fails in a file that is loaded by path"
                    )
                    remedy = "take `from __future__ import annotations` out of the recipe, or use a NamedTuple"
                    self.problem(found.lineno, "BLD041", message, remedy)
                    break

    def equal(self, tree: ast.Module) -> None:
        """Every part of the output equals its source under the recorded decisions, and nothing else is there."""
        owner: dict[int, Part] = {}
        for part, (begin, end) in self.output.ranges.items():
            owner.update(dict.fromkeys(range(begin + 1, end + 1), part))
        found: dict[Part, list[ast.stmt]] = {part: [] for part in self.output.ranges}
        for node in tree.body:
            if node.lineno in owner:
                found[owner[node.lineno]].append(node)
            elif not _is_written_by_builder(node):
                self.differs(node.lineno)
        for part, statements in found.items():
            derived = Deriver(self.rewrites[part.module.name]).block([part.node])
            difference = _difference(derived, statements, self.output.ranges[part][0] + 1)
            if difference:
                self.differs(difference)

    def differs(self, line: int) -> None:
        """Report a line of the output that is not what its source says."""
        message = "the output differs from its source here"
        self.problem(line, "BLD045", message, "report this: the builder is at fault")

    def size(self) -> None:
        size, limit = len(self.output.text.encode()), self.profile.files.size_limit_bytes
        if size >= limit:
            message = f"{size:,} bytes; the contest refuses {limit:,} or more"
            self.problems.append(
                Problem("train.py", 0, "BLD044", message, "take code that is not needed out of the recipe")
            )


def _is_written_by_builder(node: ast.stmt) -> bool:
    """The docstring, imports, and second names (`model_norm = norm`)."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Assign(targets=[ast.Name()], value=ast.Name()):
            return True
    return False


class Deriver:
    """Applies the decisions to the tree itself, independently of the text edits."""

    def __init__(self, rewrite: Rewrite) -> None:
        self.rewrite = rewrite

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """A list of statements after all decisions."""
        result: list[ast.stmt] = []
        for node in body:
            replaced = self.rewrite.statements.get(node)
            if replaced is not None and replaced != [node]:
                result += self.block(replaced)
            else:
                result.append(self.node(node))
        return result

    def node(self, node: Any) -> Any:
        """A copy of one node after all decisions."""
        rewrite = self.rewrite
        if node in rewrite.quoted:
            return ast.Constant(ast.unparse(self.plain(node)), kind="quoted")
        return self.plain(node)

    def plain(self, node: Any) -> Any:
        """A copy of one node after all decisions, quoting aside."""
        rewrite = self.rewrite
        if node in rewrite.expressions:
            return self.node(rewrite.expressions[node])
        if node in rewrite.operands:
            values = [self.node(value) for value in rewrite.operands[node]]
            return values[0] if len(values) == 1 else ast.BoolOp(node.op, values)
        if isinstance(node, ast.Attribute):
            root: Any = node
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and (node, root.id) in rewrite.renamed:
                return ast.Name(rewrite.renamed[(node, root.id)], node.ctx)
        fields = {field: self.field(node, field, getattr(node, field, None)) for field in node._fields}
        if isinstance(node, ast.JoinedStr):
            return _merged(fields["values"])
        if isinstance(node, ast.arguments):
            self.drop_parameters(node, fields)
        if isinstance(node, ast.alias) and (node, fields["asname"] or fields["name"]) in rewrite.renamed:
            fields["asname"] = rewrite.renamed[(node, fields["asname"] or fields["name"])]
        return type(node)(**fields)

    def field(self, node: Any, field: str, value: Any) -> Any:
        """A copy of one field of a node."""
        if isinstance(value, list):
            if value and isinstance(value[0], ast.stmt):
                return self.block(value) or ([] if value[0] in self.rewrite.cut else [ast.Pass()])
            kept = [item for item in value if not (isinstance(item, ast.AST) and item in self.rewrite.removed)]
            return [self.node(i) if isinstance(i, ast.AST) else self.rewrite.renamed.get((node, i), i) for i in kept]
        if isinstance(value, ast.AST):
            return self.node(value)
        if isinstance(value, str) and field in ("id", "name", "arg", "rest") and not isinstance(node, ast.alias):
            return self.rewrite.renamed.get((node, value), value)
        return value

    def drop_parameters(self, node: ast.arguments, fields: dict[str, Any]) -> None:
        """Take the defaults of removed parameters out of a signature."""
        removed = self.rewrite.removed
        positional = [*node.posonlyargs, *node.args][len(node.posonlyargs) + len(node.args) - len(node.defaults) :]
        fields["defaults"] = [self.node(d) for a, d in zip(positional, node.defaults, strict=True) if a not in removed]
        fields["kw_defaults"] = [
            self.node(d) if d is not None else None
            for a, d in zip(node.kwonlyargs, node.kw_defaults, strict=True)
            if a not in removed
        ]


def _merged(values: list[ast.expr]) -> ast.expr:
    """An f-string of these pieces, neighbouring texts joined; without fields, a plain string."""
    merged: list[ast.expr] = []
    for value in values:
        if isinstance(value, ast.Constant) and merged and isinstance(merged[-1], ast.Constant):
            merged[-1] = ast.Constant(str(merged[-1].value) + str(value.value))
        else:
            merged.append(value)
    if not merged or all(isinstance(value, ast.Constant) for value in merged):
        return ast.Constant("".join(str(value.value) for value in merged if isinstance(value, ast.Constant)))
    return ast.JoinedStr(merged)


def _difference(derived: Any, found: Any, line: int = 1) -> int:
    """0 when two trees are equal, else the line of the second at which they first differ."""
    if isinstance(derived, list):
        if not isinstance(found, list) or len(derived) != len(found):
            return line
        for one, other in zip(derived, found, strict=True):
            difference = _difference(one, other, line)
            if difference:
                return difference
        return 0
    if isinstance(derived, ast.Constant) and derived.kind == "quoted":
        same = (
            isinstance(found, ast.Constant)
            and ast.unparse(ast.parse(str(found.value), mode="eval").body) == derived.value
        )
        return 0 if same else line
    if isinstance(found, ast.JoinedStr):
        found = _merged(found.values)
    if isinstance(derived, ast.AST):
        line = getattr(found, "lineno", line)
        if type(derived) is not type(found):
            return line
        for field in derived._fields:
            difference = _difference(getattr(derived, field, None), getattr(found, field, None), line)
            if difference:
                return difference
        return 0
    if derived is found:
        return 0
    return 0 if type(derived) is type(found) and repr(derived) == repr(found) else line

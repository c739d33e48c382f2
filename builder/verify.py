"""Phase 6, verify: prove the output before it is written, by means of its own: parse it again and compare it with the
sources.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import Any

from builder import nesting, scopes, trees
from builder.emit import Output
from builder.errors import BuildError, Problem
from builder.rewrite import Rewrite
from builder.scan import Part
from builder.settings import own_hooks
from builder.source import Source, all_statements
from builder.strip import strip
from builder.versions import ADDED
from scorer.contest import Profile

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
            return nesting.parse(self.output.text, (major, minor))
        except nesting.TooDeepError as error:
            self.problem(error.line, "BLD043", str(error), nesting.REMEDY)
            raise BuildError(self.problems) from error
        except SyntaxError as error:
            message = f"not valid under Python {self.profile.machine.python}: {error.msg}"
            self.problem(error.lineno or 0, "BLD043", message, "write it in that version's syntax")
            raise BuildError(self.problems) from error

    def undefined(self, tree: ast.Module) -> None:
        source = Source("train.py", self.output.text)
        scope = scopes.analyze(source, tree)
        known = set(dir(builtins)) | set(ADDED) | MODULE_NAMES
        for occurrence in scope.occurrences:
            name = occurrence.name
            if occurrence.kind not in ("load", "delete", "type_load") or name in known or name in scope.bound:
                continue
            if occurrence.home() is scope:
                line = source.line(occurrence.start)
                self.problem(line, "BLD042", f"`{name}` is defined nowhere", "define or import it")

    def hooks(self, tree: ast.Module, hooks: tuple[str, ...]) -> None:
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        wanted = {hook.name: hook.parameters for hook in own_hooks(self.profile)}
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
        """A dataclass reads the first word of a string annotation in sys.modules, where a file loaded by path may not
        be.
        """
        deferred = any(
            isinstance(node, ast.ImportFrom) and node.module == "__future__" and node.names[0].name == "annotations"
            for node in tree.body
        )
        names = {"dataclass", "dataclasses.dataclass"}
        for node in tree.body:
            match node:
                case ast.ImportFrom(module="dataclasses"):
                    names |= {alias.asname for alias in node.names if alias.name == "dataclass" and alias.asname}
                case ast.Import():
                    names |= {f"{alias.asname}.dataclass" for alias in node.names if alias.name == "dataclasses"}
        for found in all_statements(tree):
            if not isinstance(found, ast.ClassDef):
                continue
            decorators = [ast.unparse(d.func if isinstance(d, ast.Call) else d) for d in found.decorator_list]
            if not names & set(decorators):
                continue
            for field in found.body:
                match field:
                    case ast.AnnAssign(annotation=ast.Constant(value=str(text))) if not deferred:
                        looked_up = not text.startswith("(")
                    case ast.AnnAssign():
                        looked_up = deferred
                    case _:
                        continue
                if looked_up:
                    target = ast.unparse(field.target)
                    message = f"the field `{target}` of the dataclass {found.name} has a string for its type"
                    remedy = "such a class cannot be made in a file that is loaded by path: write the type itself"
                    self.problem(field.lineno, "BLD041", message, remedy)

    def equal(self, tree: ast.Module) -> None:
        """Every part of the output equals its source under the recorded decisions, and nothing else is there."""
        owner: dict[int, Part] = {}
        for part, (begin, end) in self.output.ranges.items():
            owner.update(dict.fromkeys(range(begin + 1, end + 1), part))
        found: dict[Part, list[ast.stmt]] = {part: [] for part in self.output.ranges}
        for node in _outer_statements(tree, self.output.importers):
            if node.lineno in owner:
                found[owner[node.lineno]].append(node)
            elif not _is_written_by_builder(node):
                self.differs(node.lineno)
        comparisons = {name: Comparison(rewrite) for name, rewrite in self.rewrites.items()}
        for part, statements in found.items():
            comparison = comparisons[part.module.name]
            difference = comparison.statements([part.node], statements, self.output.ranges[part][0] + 1)
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
            remedy = "take code that is not needed out of the recipe"
            without = len(strip(self.output).text.encode())
            if without < size:
                enough = "" if without < limit else ", which is still too many"
                remedy = f"--strip-comments would leave {without:,} bytes{enough}; or {remedy}"
            self.problems.append(Problem("train.py", 0, "BLD044", message, remedy))


def _outer_statements(tree: ast.Module, importers: set[int]) -> Iterator[ast.stmt]:
    """The statements of the modules: of the file, and of the functions (by line) that run a late module."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.lineno in importers:
            yield from node.body
        else:
            yield node


def _is_written_by_builder(node: ast.stmt) -> bool:
    """The docstring, imports, and second names (`model_norm = norm`, `del norm`)."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()) | ast.Global():
            return True
        case ast.Assign(targets=[ast.Name()], value=ast.Name()) | ast.Delete(targets=[ast.Name()]):
            return True
        case ast.If(test=ast.Name(), orelse=[]):
            return all(isinstance(inner, (ast.Import, ast.ImportFrom)) for inner in node.body)
    return False


class Comparison:
    """Compares a module's tree, under the decisions and independently of the text edits, with trees of the output.

    Each method gives 0 when both are equal, else the line of the output at which they first differ.
    """

    def __init__(self, rewrite: Rewrite) -> None:
        self.rewrite = rewrite
        renamed = {node for node, _ in rewrite.renamed}
        self.decided = {*rewrite.expressions, *rewrite.operands, *rewrite.quoted, *renamed}

    def statements(self, body: list[ast.stmt], found: list[ast.stmt], line: int) -> int:
        """Compare a block."""
        return self.items(self.after(body), found, line)

    def after(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements of a block that are left, those that took the place of others included."""
        left: list[ast.stmt] = []
        for node in body:
            replaced = self.rewrite.statements.get(node)
            if replaced is not None and replaced != [node]:
                left += self.after(replaced)
            else:
                left.append(node)
        return left

    def items(self, nodes: list[Any], found: Any, line: int) -> int:
        """Compare lists, of nodes or of names."""
        if not isinstance(found, list) or len(nodes) != len(found):
            return line
        for node, other in zip(nodes, found, strict=True):
            if isinstance(node, ast.AST):
                if difference := self.node(node, other, line):
                    return difference
            elif node != other:
                return line
        return 0

    def node(self, node: Any, found: Any, line: int) -> int:
        """Compare one node."""
        line = getattr(found, "lineno", line)
        decided = node in self.decided
        if decided:
            if node in self.rewrite.quoted:
                return self.quoted(node, found, line)
            if (difference := self.replaced(node, found, line)) is not None:
                return difference
        return self.fields(node, found, line, decided)

    def quoted(self, node: ast.expr, found: Any, line: int) -> int:
        """Compare an annotation with the string that it became."""
        if not isinstance(found, ast.Constant) or not isinstance(found.value, str):
            return line
        try:
            written = ast.parse(found.value, mode="eval").body
        except SyntaxError:
            return line
        difference = self.replaced(node, written, line)
        if difference is None:
            difference = self.fields(node, written, line, True)
        return line if difference else 0

    def replaced(self, node: Any, found: Any, line: int) -> int | None:
        """Compare what a decision put in the place of a node; None when it is still there."""
        rewrite = self.rewrite
        if node in rewrite.expressions:
            return self.node(rewrite.expressions[node], found, line)
        if node in rewrite.operands:
            values = rewrite.operands[node]
            if len(values) == 1:
                return self.node(values[0], found, line)
            if not isinstance(found, ast.BoolOp) or type(node.op) is not type(found.op):
                return line
            return self.items(values, found.values, line)
        if isinstance(node, ast.Attribute):
            root = trees.root_of(node)
            name = rewrite.renamed.get((node, root.id)) if isinstance(root, ast.Name) else None
            if name is not None:
                same = isinstance(found, ast.Name) and found.id == name and type(node.ctx) is type(found.ctx)
                return 0 if same else line
        return None

    def fields(self, node: Any, found: Any, line: int, decided: bool) -> int:
        """Compare what is in two nodes."""
        if isinstance(node, ast.JoinedStr):
            node = _merged([self.rewrite.expressions.get(value, value) for value in node.values])
        if isinstance(found, ast.JoinedStr):
            found = _merged(found.values)
        if type(node) is not type(found):
            return line
        for field in node._fields:
            value, other = getattr(node, field, None), getattr(found, field, None)
            if decided and isinstance(value, (str, type(None))):
                value = self.renamed(node, field, value)
            if value is other:
                continue
            if isinstance(value, list):
                difference = self.items(self.left(node, field, value), other, line)
            elif isinstance(value, ast.AST):
                difference = self.node(value, other, line)
            else:
                difference = 0 if type(value) is type(other) and repr(value) == repr(other) else line
            if difference:
                return difference
        return 0

    def renamed(self, node: Any, field: str, value: str | None) -> str | None:
        """A name in a node, after renaming."""
        if isinstance(node, ast.alias):
            return self.rewrite.renamed.get((node, node.asname or node.name), value) if field == "asname" else value
        if value is not None and field in ("id", "name", "arg", "rest"):
            return self.rewrite.renamed.get((node, value), value)
        return value

    def left(self, node: Any, field: str, values: list[Any]) -> list[Any]:
        """What is left of a list in a node: without removed parameters and arguments, under new names."""
        rewrite = self.rewrite
        if values and isinstance(values[0], ast.stmt):
            return self.after(values) or ([] if values[0] in rewrite.cut else [ast.Pass()])
        if isinstance(node, ast.arguments) and rewrite.removed:
            positional = [*node.posonlyargs, *node.args]
            owners = {"defaults": positional[len(positional) - len(node.defaults) :], "kw_defaults": node.kwonlyargs}
            if field in owners:
                pairs = zip(owners[field], values, strict=True)
                return [value for owner, value in pairs if owner not in rewrite.removed]
        return [
            value if isinstance(value, ast.AST) else rewrite.renamed.get((node, value), value)
            for value in values
            if value not in rewrite.removed
        ]


def _merged(values: list[ast.expr]) -> ast.expr:
    """An f-string of these pieces, neighbouring texts joined; without fields, a plain string."""
    merged: list[ast.expr] = []
    for value in values:
        if isinstance(value, ast.Constant) and merged and isinstance(merged[-1], ast.Constant):
            merged[-1] = ast.Constant(str(merged[-1].value) + str(value.value))
        elif not isinstance(value, ast.Constant) or value.value != "":
            merged.append(value)
    if not merged or all(isinstance(value, ast.Constant) for value in merged):
        return ast.Constant("".join(str(value.value) for value in merged if isinstance(value, ast.Constant)))
    return ast.JoinedStr(merged)

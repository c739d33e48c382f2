"""Scope analysis of one module: every place where a name stands, and the scope that the name belongs to there.

    scope = analyze(source, tree)
    for occurrence in scope.occurrences: occurrence.name, occurrence.home(), occurrence.start, occurrence.end

The standard library's symtable knows which names a scope binds, not where they stand; a renamer needs both.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

from builder import strings, trees
from builder.source import Source, all_statements

TYPING = ("typing", "typing_extensions")
CONTEXTS: dict[type, str] = {ast.Load: "load", ast.Store: "store", ast.Del: "delete"}
NAMESPACE_READERS = ("locals", "vars", "dir")  # builtins that show a scope's names as data
# Statements that bind what they bind whenever they run.
STRAIGHT = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Import,
    ast.ImportFrom,
    ast.Assign,
    ast.AugAssign,
    ast.AnnAssign,
    ast.Delete,
)


class Scope:
    """A module, class, function, lambda or comprehension: what it binds, and the scope around it."""

    __slots__ = (
        "bound",
        "children",
        "deferred",
        "globals",
        "kind",
        "node",
        "nonlocals",
        "occurrences",
        "parent",
        "reads_itself",
        "scopes",
    )

    def __init__(self, kind: str, node: ast.AST, parent: Scope | None) -> None:
        self.kind = kind  # "module", "class", "function", "lambda", "comprehension" or "types" (PEP 695 parameters)
        self.node = node
        self.parent = parent
        self.children: list[Scope] = []
        self.bound: dict[str, list[Occurrence]] = {}
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.occurrences: list[Occurrence] = []  # of the module scope only: all of the module
        self.reads_itself = False  # by `locals()` and the like: its names are data
        self.scopes: dict[ast.AST, Scope] = parent.scopes if parent else {}  # definition or comprehension -> its scope
        self.scopes[node] = self
        self.deferred: bool = bool(parent and parent.deferred) or kind in ("function", "lambda", "types")
        if parent:
            parent.children.append(self)

    def module(self) -> Scope:
        """The outermost scope."""
        scope = self
        while scope.parent:
            scope = scope.parent
        return scope

    def home(self, name: str) -> Scope:
        """The scope that `name`, standing directly in this one, belongs to; the module's where nobody binds it."""
        scope: Scope | None = self
        while scope:
            if name in scope.globals:
                break
            if name in scope.bound and name not in scope.nonlocals and (scope is self or scope.kind != "class"):
                return scope
            scope = scope.parent
        return self.module()

    def namespace(self) -> Scope:
        """The scope whose names `locals()` reads, standing directly in this one."""
        scope = self
        while scope.parent and scope.kind not in ("function", "lambda", "class"):
            scope = scope.parent
        return scope

    def chain(self) -> Iterable[Scope]:
        """The scopes in which a name standing here would be found before the module: this one, then functions around
        it.
        """
        scope: Scope | None = self
        while scope and scope.parent:
            if scope is self or scope.kind != "class":
                yield scope
            scope = scope.parent


class Occurrence:
    """One place where a name stands."""

    __slots__ = (
        "annotation",
        "attributes",
        "before",
        "debug",
        "end",
        "found",
        "kind",
        "name",
        "node",
        "part",
        "perhaps",
        "quote",
        "raw",
        "scope",
        "start",
    )

    def __init__(self, name: str, start: int, end: int, scope: Scope, kind: str, part: int, node: ast.AST) -> None:
        self.name = name
        self.start = start
        self.end = end
        self.scope = scope
        self.kind = (
            kind  # load, store, delete, parameter, definition, import, declaration, or type_load (string annotation)
        )
        self.part = part  # index of the top-level statement
        self.node = node
        self.attributes: tuple[ast.Attribute, ...] = ()  # `.b` and `.c` of `a.b.c`, innermost first
        self.annotation = False  # stands in an annotation, not evaluated where annotations are deferred
        self.before = False  # in a class body, read before the class binds the name there
        self.perhaps = False  # in a class body, read where the class may not have bound the name yet, or any more
        self.debug = False  # stands in the `{expression=}` of an f-string
        self.found: Scope | None = None  # its home, once asked for
        self.quote = ""  # quotes of the f-strings around it, outermost first
        self.raw = False  # whether no backslash can be written there: a raw f-string, or one inside another

    def home(self) -> Scope:
        """The scope that the name belongs to here. Asked for when the whole module was analyzed."""
        if self.found is None:
            hidden = self.before and self.name in self.scope.bound
            self.found = self.scope.module() if hidden else self.scope.home(self.name)
        return self.found

    def chain(self) -> Iterable[Scope]:
        """The scopes in which a name that is written here may be found before the module's."""
        return self.scope.chain()


def analyze(source: Source, tree: ast.Module) -> Scope:
    """All scopes and names of a module. Corrects the places of nodes inside f-strings on the way."""
    return _Analyzer(source, tree).run()


class _Analyzer:
    def __init__(self, source: Source, tree: ast.Module) -> None:
        self.source = source
        self.text = source.text
        self.tree = tree
        self.scope = self.module = Scope("module", tree, None)
        self.part = 0
        self.annotation = False
        self.bare = False  # whether the name is only annotated
        self.debug = False
        self.quote = ""
        self.raw = False
        self.loops = 0  # loops around, in this class body
        self._typing: dict[str, str] | None = None  # name -> its name in typing, "" for the module itself
        self.begun: set[str] = set()  # names that this class body may have bound so far
        self.sure: set[str] = set()  # names that it has bound for certain
        self.private = ""  # name of the class around, for `__name` mangling
        visitors = {
            "AnnAssign": self.annotated_assignment,
            "Assign": self.assignment,
            "AsyncFor": self.loop,
            "AsyncFunctionDef": self.function,
            "Attribute": self.attribute,
            "ClassDef": self.class_,
            "Constant": self.constant,
            "DictComp": self.comprehension,
            "ExceptHandler": self.handler,
            "For": self.loop,
            "FunctionDef": self.function,
            "GeneratorExp": self.comprehension,
            "Global": self.declaration,
            "Import": self.import_,
            "ImportFrom": self.import_,
            "JoinedStr": self.joined_string,
            "Lambda": self.lambda_,
            "ListComp": self.comprehension,
            "MatchAs": self.match_as,
            "MatchMapping": self.match_mapping,
            "MatchStar": self.match_star,
            "Name": self.name,
            "NamedExpr": self.walrus,
            "Nonlocal": self.declaration,
            "SetComp": self.comprehension,
            "Subscript": self.subscript,
            "TypeAlias": self.type_alias,
            "While": self.loop,
        }
        self.visitors: dict[type, Any] = {getattr(ast, name): v for name, v in visitors.items() if hasattr(ast, name)}

    def run(self) -> Scope:
        for index, statement in enumerate(self.tree.body):
            self.part = index
            self.visit(statement)
        for scope in self.module.scopes.values():
            for name in sorted(scope.nonlocals & set(scope.bound)):  # what it binds is a variable of a function around
                scope.home(name).bound.setdefault(name, []).extend(scope.bound.pop(name))
        return self.module

    def visit(self, node: ast.AST) -> None:
        visitor = self.visitors.get(type(node))
        if visitor:
            visitor(node)
        else:
            self.children(node)

    def children(self, node: ast.AST) -> None:
        for field in trees.inner_fields(node):
            value = getattr(node, field, None)
            if isinstance(value, list):
                for item in value:
                    if isinstance(item, ast.AST):
                        self.visit(item)
            elif isinstance(value, ast.AST):
                self.visit(value)

    def each(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    # Occurrences

    def add(self, name: str, start: int, end: int, kind: str, node: ast.AST, scope: Scope | None = None) -> Occurrence:
        if self.private and name.startswith("__") and not name.endswith("__"):
            name = f"_{self.private}{name}"
        scope = scope or self.scope
        occurrence = Occurrence(name, start, end, scope, kind, self.part, node)
        occurrence.annotation = self.annotation
        occurrence.debug = self.debug
        occurrence.quote = self.quote
        occurrence.raw = self.raw
        if kind == "load" and scope.kind == "class":
            occurrence.before = not self.loops and name not in self.begun
            occurrence.perhaps = name not in self.sure
        self.module.occurrences.append(occurrence)
        if name in NAMESPACE_READERS and kind == "load":
            scope.namespace().reads_itself = True
        if kind not in ("load", "declaration", "type_load"):
            home = self.module if name in scope.globals else scope
            home.bound.setdefault(name, []).append(occurrence)
            if home.kind == "class" and not self.bare:
                self.begun.add(name)
        return occurrence

    def find(self, name: str, start: int) -> int:
        """Offset of the identifier `name` at or after `start` (the parser normalises identifiers, so compare those)."""
        while True:
            start = self.text.index(name, start)
            around = self.text[start - 1] + self.text[start + len(name) : start + len(name) + 1]
            if not any(character.isalnum() or character == "_" for character in around):
                return start
            start += 1

    def named(self, name: str, start: int, kind: str, node: ast.AST) -> None:
        at = self.find(name, start)
        self.add(name, at, at + len(name), kind, node)

    def name(self, node: ast.Name) -> None:
        kind = CONTEXTS[type(node.ctx)]
        scope = self.scope
        start = self.source.offset(node.lineno, node.col_offset)
        end = start + len(node.id)
        if not self.text.startswith(node.id, start):  # written in another Unicode form
            end = self.source.offset(node.lineno, node.end_col_offset or 0)
        self.add(node.id, start, end, kind, node, scope)

    def attribute(self, node: ast.Attribute) -> None:
        attributes = [node]
        value: ast.expr = node.value
        while isinstance(value, ast.Attribute):
            attributes.append(value)
            value = value.value
        if isinstance(value, ast.Name):
            self.name(value)
            self.module.occurrences[-1].attributes = tuple(reversed(attributes))
        else:
            self.visit(value)

    def walrus(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        scope = self.scope
        while scope.kind == "comprehension" and scope.parent:
            scope = scope.parent
        start = self.source.start(node.target)
        self.add(node.target.id, start, start + len(node.target.id), "store", node.target, scope)

    def constant(self, node: ast.Constant) -> None:
        if self.annotation and isinstance(node.value, str):
            self.string_annotation(node, node.value)

    def subscript(self, node: ast.Subscript) -> None:
        """In an annotation, what `Literal` holds are values, and what `Annotated` adds are notes: no types."""
        form = self.typing_form(node.value) if self.annotation else ""
        if form not in ("Literal", "Annotated"):
            self.children(node)
            return
        self.visit(node.value)
        elements = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        types, values = (elements[:1], elements[1:]) if form == "Annotated" else ([], elements)
        self.each(types)
        outer, self.annotation = self.annotation, False
        self.each(values)
        self.annotation = outer

    def typing_form(self, node: ast.expr) -> str:
        """The name in `typing` of what a name or attribute was imported as; "" for anything else."""
        if self._typing is None:
            self._typing = {}
            for statement in all_statements(self.tree):
                if isinstance(statement, ast.Import):
                    names = [(alias.asname or alias.name, alias.name) for alias in statement.names]
                    self._typing.update({bound: "" for bound, name in names if name in TYPING})
                elif isinstance(statement, ast.ImportFrom) and statement.module in TYPING and not statement.level:
                    self._typing.update({alias.asname or alias.name: alias.name for alias in statement.names})
        if isinstance(node, ast.Name):
            return self._typing.get(node.id, "")
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return node.attr if self._typing.get(node.value.id) == "" else ""
        return ""

    def string_annotation(self, node: ast.Constant, text: str) -> None:
        """Names in a string annotation count as used; they cannot be renamed in place."""
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except SyntaxError:
            return
        start, end = self.source.start(node), self.source.end(node)
        for name in trees.nodes(tree):
            if isinstance(name, ast.Name):
                self.add(name.id, start, end, "type_load", node)

    def joined_string(self, node: ast.JoinedStr) -> None:
        start = self.source.start(node)
        places = iter(strings.fields(self.text, start, self.source.end(node)))
        self.formatted(node, places)

    def formatted(self, node: ast.JoinedStr, places: Any) -> None:
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                place = next(places)
                line = self.source.line(place.start)
                column = len(self.text[self.source.line_start(place.start) : place.start].encode())
                value.value = strings.parse_field(self.text, place, line, column)
                outer = self.debug, self.quote, self.raw
                self.debug, self.quote, self.raw = (
                    self.debug or place.debug,
                    outer[1] + place.quote,
                    bool(outer[1]) or place.raw,
                )
                self.visit(value.value)
                self.debug, self.quote, self.raw = outer
                if isinstance(value.format_spec, ast.JoinedStr):
                    self.formatted(value.format_spec, places)

    # Scopes

    def inside(self, kind: str, node: ast.AST) -> Scope:
        self.scope = Scope(kind, node, self.scope)
        return self.scope

    def leave(self) -> None:
        assert self.scope.parent
        self.scope = self.scope.parent

    def annotate(self, node: ast.expr | None) -> None:
        if node is not None:
            outer, self.annotation = self.annotation, True
            self.visit(node)
            self.annotation = outer

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.each(node.decorator_list)
        keyword = self.source.start(node) + (len("async") if isinstance(node, ast.AsyncFunctionDef) else 0)
        self.named(node.name, self.text.index("def", keyword) + len("def"), "definition", node)
        self.each(node.args.defaults)
        self.each(node.args.kw_defaults)
        typed = self.type_parameters(node)
        arguments = _arguments(node.args)
        for argument in arguments:
            self.annotate(argument.annotation)
        self.annotate(node.returns)
        self.inside("function", node)
        self.parameters(arguments)
        self.each(node.body)
        self.leave()
        if typed:
            self.leave()

    def parameters(self, arguments: list[ast.arg]) -> None:
        for argument in arguments:
            start = self.source.start(argument)
            self.add(argument.arg, start, start + len(argument.arg), "parameter", argument)

    def lambda_(self, node: ast.Lambda) -> None:
        self.each(node.args.defaults)
        self.each(node.args.kw_defaults)
        self.inside("lambda", node)
        self.parameters(_arguments(node.args))
        self.visit(node.body)
        self.leave()

    def type_parameters(self, node: ast.AST) -> bool:
        """PEP 695 (`def f[T]()`): the parameters live in a scope of their own. True when there is one to leave."""
        parameters = getattr(node, "type_params", None)
        if not parameters:
            return False
        self.inside("types", node)
        for parameter in parameters:
            self.named(parameter.name, self.source.start(parameter), "store", parameter)
            self.each([getattr(parameter, "bound", None), getattr(parameter, "default_value", None)])
        return True

    def type_alias(self, node: Any) -> None:
        self.name(node.name)
        typed = self.type_parameters(node)
        self.inside("types", node)
        self.visit(node.value)
        self.leave()
        if typed:
            self.leave()

    def class_(self, node: ast.ClassDef) -> None:
        self.each(node.decorator_list)
        self.named(node.name, self.source.start(node) + len("class"), "definition", node)
        typed = self.type_parameters(node)
        self.each(node.bases)
        self.each(node.keywords)
        outer = self.private, self.loops, self.sure, self.begun
        self.private, self.loops, self.sure, self.begun = node.name.lstrip("_"), 0, set(), set()
        scope = self.inside("class", node)
        for statement in node.body:
            begin = len(self.module.occurrences)
            self.visit(statement)
            self.note_sure(statement, [o for o in self.module.occurrences[begin:] if o.scope is scope])
        self.leave()
        self.private, self.loops, self.sure, self.begun = outer
        if typed:
            self.leave()

    def note_sure(self, statement: ast.stmt, occurrences: list[Occurrence]) -> None:
        """Note which names of a class body are bound for certain behind one of its statements."""
        unbound = {o.name for o in occurrences if o.kind == "delete" or isinstance(o.node, ast.ExceptHandler)}
        self.sure = (self.sure | self.surely(statement, occurrences)) - unbound

    def surely(self, statement: ast.stmt, occurrences: list[Occurrence]) -> set[str]:
        """The names that a statement binds whatever path it takes."""
        if isinstance(statement, ast.If):
            paths = [statement.body, statement.orelse]
            return set.intersection(*(set().union(*(self.surely(s, occurrences) for s in path)) for path in paths))
        if not binds_surely(statement):
            return set()
        start, end = self.source.statement_start(statement), self.source.end(statement)
        binding = (o for o in occurrences if o.kind in ("store", "definition", "import") and start <= o.start < end)
        return {occurrence.name for occurrence in binding}

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        first, *others = node.generators
        self.visit(first.iter)
        self.inside("comprehension", node)
        self.visit(first.target)
        self.each(first.ifs)
        for generator in others:
            self.each([generator.target, generator.iter, *generator.ifs])
        if isinstance(node, ast.DictComp):
            self.each([node.key, node.value])
        else:
            self.visit(node.elt)
        self.leave()

    # Statements and patterns that bind names which are not Name nodes

    def assignment(self, node: ast.Assign) -> None:
        self.visit(node.value)  # first, as Python does
        self.each(node.targets)

    def annotated_assignment(self, node: ast.AnnAssign) -> None:
        self.each([node.value])
        self.bare = node.value is None  # binds nothing
        self.visit(node.target)
        self.bare = False
        self.annotate(node.annotation)

    def loop(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        self.loops += 1
        self.children(node)
        self.loops -= 1

    def declaration(self, node: ast.Global | ast.Nonlocal) -> None:
        at = self.source.start(node) + len("global" if isinstance(node, ast.Global) else "nonlocal")
        declared = self.scope.globals if isinstance(node, ast.Global) else self.scope.nonlocals
        for name in node.names:
            declared.add(name)
            at = self.find(name, at)
            self.add(name, at, at + len(name), "declaration", node)
            at += len(name)

    def import_(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            return
        for alias in node.names:
            if alias.name == "*":
                continue
            end = self.source.end(alias)
            name = alias.asname or alias.name.split(".")[0]
            start = end - len(name) if alias.asname else self.source.start(alias)
            self.add(name, start, end if alias.asname else start + len(name), "import", alias)

    def handler(self, node: ast.ExceptHandler) -> None:
        self.each([node.type])
        if node.name:
            start = self.source.end(node.type) if node.type else self.source.start(node)
            at = re.compile(r"\bas\b").search(self.text, start)
            assert at
            self.named(node.name, at.end(), "store", node)
        self.each(node.body)

    def match_as(self, node: ast.MatchAs) -> None:
        self.each([node.pattern])
        if node.name:
            end = self.source.end(node)
            self.add(node.name, end - len(node.name), end, "store", node)

    def match_star(self, node: ast.MatchStar) -> None:
        if node.name:
            end = self.source.end(node)
            self.add(node.name, end - len(node.name), end, "store", node)

    def match_mapping(self, node: ast.MatchMapping) -> None:
        self.each([*node.keys, *node.patterns])
        if node.rest:
            self.named(node.rest, self.text.rindex("**", 0, self.source.end(node)) + 2, "store", node)


def binds_surely(statement: ast.stmt) -> bool:
    """Whether a statement binds all that it binds whenever it runs (`x: int` alone binds nothing)."""
    bare = isinstance(statement, ast.AnnAssign) and statement.value is None
    return isinstance(statement, STRAIGHT) and not bare


def _arguments(arguments: ast.arguments) -> list[ast.arg]:
    """Parameters in source order."""
    found = [*arguments.posonlyargs, *arguments.args]
    if arguments.vararg:
        found.append(arguments.vararg)
    found += arguments.kwonlyargs
    if arguments.kwarg:
        found.append(arguments.kwarg)
    return found

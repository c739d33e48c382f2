"""Which names are configs, which functions take one, and what a call that is given one runs."""

from __future__ import annotations

import ast
from typing import Any, Protocol

from builder.bindings import Bindings, Variable
from builder.scan import Module, Program
from builder.scopes import Occurrence, Scope
from builder.source import all_statements
from builder.trees import root_of


class Record(Protocol):
    """An object of known fields: the config, or the options of the command line."""

    def read(self, name: str) -> Any:
        """The value of a field; KeyError when there is none."""

    def value_names(self) -> list[str]:
        """The fields."""


FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Key = tuple[Scope, str]


class Configs:
    """Which names are configs, and which functions take one."""

    def __init__(self, program: Program, bindings: Bindings) -> None:
        self.program = program
        self.bindings = bindings
        settings = program.settings
        self.class_ = Variable(*settings.config) if settings.config else None
        self.loader = Variable(*settings.loader) if settings.loader else None
        self.names: set[Key] = set()
        self.records: dict[Key, Record] = {}  # names of other objects that go: options of the command line
        self.parts: set[tuple[str, int]] = set()
        self.rebound: dict[tuple[str, int], list[Occurrence]] = {}  # part -> where a config's name gets another value
        self.takers: dict[ast.AST, set[str]] = {}  # function -> its config parameters
        self.methods: dict[str, list[FunctionNode]] = {}

    def holds(self, key: Key) -> bool:
        """Whether a name holds an object that goes."""
        return key in self.names or key in self.records

    def add_record(self, record: Record, names: dict[Key, Module], takers: dict[ast.AST, set[str]]) -> None:
        """Note names that hold an object, and parameters among them."""
        self.records.update(dict.fromkeys(names, record))
        for function, parameters in takers.items():
            self.takers.setdefault(function, set()).update(parameters)

    def record(self, module: Module, node: ast.expr) -> Record | None:
        """The object other than the config that an expression is."""
        occurrence = module.by_node.get(node) if isinstance(node, ast.Name) else None
        return self.records.get((occurrence.home(), occurrence.name)) if occurrence else None

    def concerns(self, module: Module, part: int) -> bool:
        """Whether a part has to do with a config at all."""
        return (module.name, part) in self.parts

    def find(self) -> None:
        """Find all configs, and the parts that have to do with one."""
        for module in self.program.modules.values():
            for occurrence in module.scope.occurrences:
                if occurrence.kind == "parameter":
                    self.parameter(module, occurrence)
                elif (
                    occurrence.kind == "definition"
                    and occurrence.scope.kind == "class"
                    and isinstance(occurrence.node, FunctionNode)
                ):
                    self.methods.setdefault(occurrence.name, []).append(occurrence.node)
        for module in self.program.modules.values():
            self.variables(module)
            sources: dict[ast.AST, ast.expr | None] = {
                target: value for part in module.parts for target, value in _assignments(part.node)
            }
            for occurrence in module.scope.occurrences:
                named = (occurrence.home(), occurrence.name) in self.names
                if named or self.is_loader(module, occurrence):
                    self.parts.add((module.name, occurrence.part))
                if named and occurrence.kind in ("store", "definition", "import", "delete"):
                    value = sources.get(occurrence.node)
                    if value is None or not self.is_config(module, value):
                        self.rebound.setdefault((module.name, occurrence.part), []).append(occurrence)

    def find_imports(self) -> None:
        """Parts with an import of the recipe's own modules inside a function."""
        for module in self.program.modules.values():
            self.parts.update((module.name, found.part) for found in module.imports if found.scope.kind == "function")

    def parameter(self, module: Module, occurrence: Occurrence) -> None:
        """Note a parameter that is annotated with the config class."""
        node = occurrence.node
        assert isinstance(node, ast.arg)
        if node.annotation is not None and self.is_class(module, node.annotation, occurrence.scope):
            self.names.add((occurrence.scope, occurrence.name))
            self.takers.setdefault(occurrence.scope.node, set()).add(node.arg)

    def is_class(self, module: Module, annotation: ast.expr, scope: Scope) -> bool:
        """Whether an annotation is the config class, by name, by attribute or as a string."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            return self.class_ is not None and self.bindings.variable(module, annotation.value) == self.class_
        occurrence = module.by_node.get(root_of(annotation))
        if occurrence is None:
            return False
        reference = self.bindings.of(module, occurrence)
        whole = reference is not None and reference.attributes == len(occurrence.attributes)
        return whole and reference is not None and reference.meaning == self.class_

    def is_loader(self, module: Module, occurrence: Occurrence) -> bool:
        """Whether an occurrence reads the loader."""
        if self.loader is None or occurrence.kind != "load":
            return False
        reference = self.bindings.of(module, occurrence)
        return reference is not None and reference.meaning == self.loader

    def variables(self, module: Module) -> None:
        """Local variables every binding of which is a config."""
        assigned: dict[Key, list[ast.expr]] = {}
        for node, occurrence in module.by_node.items():
            if isinstance(node, ast.Name) and occurrence.kind == "store":
                assigned.setdefault((occurrence.home(), occurrence.name), [])
        for part in module.parts:
            for target, value in _assignments(part.node):
                bound = module.by_node[target]
                if value is not None:
                    assigned[(bound.home(), bound.name)].append(value)
        changed = True
        while changed:
            changed = False
            for key, sources in assigned.items():
                scope, name = key
                if (
                    key not in self.names
                    and sources
                    and len(sources) == len(scope.bound[name])
                    and all(self.is_config(module, s) for s in sources)
                ):
                    self.names.add(key)
                    changed = True

    def is_config(self, module: Module, node: ast.expr) -> bool:
        """Whether an expression is the config: a config's name, or a call of the loader for the command line.

        A loader given other arguments makes another config than the one that is frozen.
        """
        if isinstance(node, ast.Name):
            occurrence = module.by_node.get(node)
            return occurrence is not None and self.holds((occurrence.home(), occurrence.name))
        if isinstance(node, ast.Call):
            occurrence = module.by_node.get(root_of(node.func))
            return occurrence is not None and self.is_loader(module, occurrence) and _takes_the_command_line(node)
        return False

    def callees(self, module: Module, node: ast.Call) -> list[tuple[ast.AST, int]]:
        """The functions that a call may run, as far as the builder can tell, each with the number of parameters bound
        before.
        """
        occurrence = module.by_node.get(root_of(node.func))
        if occurrence is not None:
            local = _local_definition(occurrence)
            if local is not None:
                return [(local, 0)]
            reference = self.bindings.of(module, occurrence)
            if (
                reference is not None
                and reference.attributes == len(occurrence.attributes)
                and isinstance(reference.meaning, Variable)
            ):
                definition = self.bindings.definition(reference.meaning)
                if isinstance(definition, FunctionNode):
                    return [(definition, 0)]
                if isinstance(definition, ast.ClassDef):
                    found = self.initializer(self.program.modules[reference.meaning.module], definition)
                    return [(found, 1)] if found else []
        if isinstance(node.func, ast.Attribute):
            methods = self.methods.get(node.func.attr, [])
            if node.func.attr == "__init__":
                methods = self.base_initializer(module, node)
            return [(method, 0 if _is_static(method) else 1) for method in methods]
        return []

    def base_initializer(self, module: Module, node: ast.Call) -> list[FunctionNode]:
        """The `__init__` that `super().__init__(...)` runs."""
        match node.func:
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super") as name, args=[])):
                scope: Scope | None = module.by_node[name].scope
                while scope and scope.kind != "class":
                    scope = scope.parent
                if scope and isinstance(scope.node, ast.ClassDef):
                    found = self.initializer(module, scope.node, inherited=True)
                    return [found] if found else []
        return []

    def initializer(self, module: Module, node: ast.ClassDef, inherited: bool = False) -> FunctionNode | None:
        """The `__init__` of a class, or of its first base in the recipe that has one."""
        if not inherited:
            for statement in node.body:
                if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
                    return statement
        for base in node.bases:
            occurrence = module.by_node.get(root_of(base))
            reference = self.bindings.of(module, occurrence) if occurrence else None
            if reference and isinstance(reference.meaning, Variable):
                definition = self.bindings.definition(reference.meaning)
                if isinstance(definition, ast.ClassDef) and definition is not node:
                    found = self.initializer(self.program.modules[reference.meaning.module], definition)
                    if found:
                        return found
        return None


def _assignments(node: ast.AST) -> list[tuple[ast.Name, ast.expr | None]]:
    """The assignments to one plain name inside a statement: target and value."""
    found: list[tuple[ast.Name, ast.expr | None]] = []
    for child in (node, *all_statements(node)):
        match child:
            case ast.Assign(targets=[ast.Name() as target]) | ast.AnnAssign(target=ast.Name() as target):
                found.append((target, child.value))
    return found


def _takes_the_command_line(node: ast.Call) -> bool:
    """A call without arguments, or with `None` or `sys.argv[1:]` alone."""
    arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
    return not arguments or (len(arguments) == 1 and ast.unparse(arguments[0]) in ("None", "sys.argv[1:]"))


def _local_definition(occurrence: Occurrence) -> ast.AST | None:
    home = occurrence.home()
    bound = home.bound.get(occurrence.name, [])
    if (
        home.kind == "function"
        and len(bound) == 1
        and isinstance(bound[0].node, FunctionNode)
        and not occurrence.attributes
    ):
        return bound[0].node
    return None


def _is_static(method: FunctionNode) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in method.decorator_list)

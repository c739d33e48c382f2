"""Classes that are nothing but a list of settings, and their instances:

    class Hyperparameters:                                      args = Hyperparameters()
        tied = bool(int(os.environ.get("TIED", "1")))           if args.tied: ...

Their attributes are known as far as each is bound once in the class's own straight code and no code of the program can
set an attribute of that name. Classes with bases, decorators other than `dataclass`, or special methods are left aside.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from builder import trees
from builder.bindings import Variable
from builder.configs import FunctionNode
from builder.objects import READERS, Constant, argument_of
from builder.scan import Module
from builder.scopes import Occurrence
from builder.trees import root_of
from builder.values import UNKNOWN, Evaluator, RaisedError, UnknownValueError, is_constant

if TYPE_CHECKING:
    from builder.facts import Facts

NESTED = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)  # they do not see the class's names
OPTIONS = frozenset({"eq", "frozen", "kw_only", "repr", "slots"})  # of `dataclass`: none changes what fields hold


@dataclass(frozen=True, eq=False)
class Settings:
    """An instance of such a class: attributes with their knobs, UNKNOWN for those that cannot be told."""

    variable: Variable
    attributes: dict[str, Constant]


def attributes(node: ast.ClassDef, fields: bool, code: Evaluator) -> dict[str, Constant] | None:
    """What the attributes of a class are when its body runs now; None for a class that does more than list them.

    `code` evaluates in the class's module; `fields`: the class is a dataclass.
    """
    if node.bases or node.keywords or (node.decorator_list and not fields):
        return None
    known: dict[str, Constant] = {}
    for statement in node.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if not name.startswith("__"):
                known[name] = (UNKNOWN, ()) if name in known else _value(value, code, known)
                code.variables[name] = known[name][0]
            case ast.AnnAssign(value=None):
                if fields:
                    return None  # has to be given
            case ast.FunctionDef(name=name) if not name.startswith("__") and not _sets(statement):
                known[name] = (UNKNOWN, ())
                code.variables[name] = UNKNOWN
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case _:
                return None
    return known


class Keeping:
    """Knows which settings nothing in the program can set anew."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._known: dict[Variable, bool] = {}

    def keeps(self, variable: Variable, name: str) -> bool:
        """Whether nothing in the program can set an attribute of this name on a class that lists settings, or on an
        instance of it: no code sets one by that name, and the objects reach no code that is not the program's.
        """
        if (
            name in self.facts.stored
            or "__class__" in self.facts.stored
            or self.facts.sets_any_attribute
            or not self.facts.instances_stay
        ):
            return False
        if variable not in self._known:
            self._known[variable] = True  # while looking: functions that call each other
            self._known[variable] = all(self.only_asks(*use, set()) for use in self.facts.uses(variable))
        return self._known[variable]

    def only_asks(self, module: Module, occurrence: Occurrence, seen: set[Any]) -> bool:
        """Whether one use of such a class or instance reads an attribute, or hands it to code that does no more."""
        if occurrence.kind in ("import", "definition", "type_load", "store"):
            return occurrence.kind != "import" or occurrence.home() is module.scope
        reference = self.facts.bindings.of(module, occurrence)
        used = reference.attributes if reference else 0
        if occurrence.kind != "load":
            return False
        if used < len(occurrence.attributes):
            return occurrence.attributes[used].attr not in ("__dict__", "__class__")
        node: ast.AST = occurrence.attributes[used - 1] if used else occurrence.node
        parents = self.facts.parents(module)
        around = parents.get(node)
        match around:
            case ast.Call(args=[], keywords=[]):  # an instance, which a variable of the module holds
                kept = parents.get(around)
                match kept:
                    case ast.Assign(targets=[ast.Name() as target]) | ast.AnnAssign(target=ast.Name() as target):
                        return self.is_asked(module, module.by_node[target], seen)
                return isinstance(kept, ast.Attribute)
            case ast.Call(func=ast.Name(id=name)) if around.func is not node and self.facts.bindings.names_builtin(
                module, around.func
            ):
                asks = name in READERS or name in ("getattr", "hasattr", "isinstance")
                return asks or (name == "vars" and self.facts.is_only_read(module, around))
            case ast.Call() if around.func is not node:
                return self.is_taken(module, around, node, seen)
            case ast.keyword():
                call = parents.get(around)
                return isinstance(call, ast.Call) and self.is_taken(module, call, around.value, seen)
        return False

    def is_asked(self, module: Module, bound: Occurrence, seen: set[Any]) -> bool:
        """Whether all code that reads a variable which holds settings only asks for them."""
        home = bound.home()
        if (home, bound.name) in seen:
            return True
        seen.add((home, bound.name))
        if home is module.scope:
            return all(self.only_asks(*use, seen) for use in self.facts.uses(Variable(module.name, bound.name)))
        places = [place for place in module.places(home, bound.name) if place is not bound]
        return home.kind == "function" and all(
            place.kind in ("load", "type_load") and self.only_asks(module, place, seen) for place in places
        )

    def is_taken(self, module: Module, call: ast.Call, node: ast.AST, seen: set[Any]) -> bool:
        """Whether a function of the recipe takes settings as a parameter, and only asks for them."""
        occurrence = module.by_node.get(root_of(call.func))
        reference = self.facts.bindings.of(module, occurrence) if occurrence else None
        if reference is None or occurrence is None or not isinstance(reference.meaning, Variable):
            return False
        function = self.facts.bindings.definition(reference.meaning)
        if reference.attributes != len(occurrence.attributes) or not isinstance(function, FunctionNode):
            return False
        home = self.facts.program.modules[reference.meaning.module]
        inner = home.scope.scopes[function]
        for parameter in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
            if argument_of(call, function, parameter.arg) is node and not function.decorator_list:
                bound = inner.bound.get(parameter.arg, [])
                return len(bound) == 1 and self.is_asked(home, bound[0], seen)
        return False


def is_dataclass(node: ast.ClassDef, code: Any) -> bool:
    """Whether the only decorator of a class is `dataclass`, in a form that changes nothing of what fields hold."""
    match node.decorator_list:
        case [ast.Call(func=func, args=[], keywords=keywords)]:
            return code.path(func) == "dataclasses.dataclass" and all(one.arg in OPTIONS for one in keywords)
        case [func]:
            return bool(code.path(func) == "dataclasses.dataclass")
    return False


def _value(node: ast.expr, code: Evaluator, known: dict[str, Constant]) -> Constant:
    children = list(trees.nodes(node))
    if any(isinstance(child, NESTED) for child in children):
        return UNKNOWN, ()
    run = code.context
    outer, run.used = run.used, {}
    try:
        value = code.evaluate(node)
        for child in children:
            if isinstance(child, ast.Name) and child.id in known:
                run.use(*known[child.id][1])
        return (value, tuple(run.used)) if is_constant(value) else (UNKNOWN, ())
    except (UnknownValueError, RaisedError):
        return UNKNOWN, ()
    finally:
        run.used = outer


def _sets(node: ast.FunctionDef) -> bool:
    """Whether a method may set attributes of the instance."""
    return bool(node.decorator_list) or any(
        (isinstance(child, ast.Attribute) and (not isinstance(child.ctx, ast.Load) or child.attr.startswith("__")))
        or (isinstance(child, ast.Name) and child.id in ("setattr", "delattr", "vars", "super"))
        for child in trees.nodes(node)
    )

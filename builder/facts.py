"""What the builder knows of the program's values: of module-level variables, of locals and of parameters, as far as
settings decide them.

    facts.evaluator(module).evaluate(node)        the value of an expression wherever it stands, or UnknownValueError

A value may be read where it cannot have changed any more: a variable that is bound once, or the state of a module whose
code has run.
"""

from __future__ import annotations

import argparse
import ast
import copy
import functools
from typing import Any

from builder import arguments, plain, trees, values
from builder.bindings import Bindings, Variable
from builder.code import Code
from builder.configs import Configs, FunctionNode
from builder.environment import Environ, Environment, Place, Write
from builder.flow import Flow, variable_of
from builder.knobs import Config
from builder.objects import (
    READERS,
    Constant,
    External,
    Function,
    Instance,
    Parsed,
    Version,
    argument_of,
    default_of,
    reachable,
)
from builder.scan import Module, Program
from builder.scopes import Occurrence, Scope
from builder.settings import own_hooks
from builder.values import UNKNOWN, RaisedError, Run, UnknownValueError

# Decorators that hand arguments on as they are.
PASSING = (
    "torch.compile",
    "torch.compiler.disable",
    "torch.distributed.elastic.multiprocessing.errors.record",
    "torch.enable_grad",
    "torch.inference_mode",
    "torch.no_grad",
)
# Set wherever a program runs: taking them for unset would be a guess.
SYSTEM = frozenset(
    {"HOME", "HOSTNAME", "LANG", "LD_LIBRARY_PATH", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "USER"}
)
CACHES = ("functools.cache", "functools.lru_cache")


class Facts:
    """Knows values, over all modules of a program."""

    def __init__(
        self,
        program: Program,
        bindings: Bindings,
        configs: Configs,
        config: Config | None,
        environment: Environment,
        constants: dict[Variable, Constant],
    ) -> None:
        self.program = program
        self.bindings = bindings
        self.configs = configs
        self.config = config
        self.environment = environment
        self.constants = constants  # module constants that the settings name, with given values
        self.options: dict[str, arguments.Option] = {}
        self.action_places: dict[argparse.Action, tuple[Place, tuple[str, ...]]] = {}  # with the default's knobs
        self.option_places: dict[str, Place] = {}
        self.option_uses: dict[str, tuple[str, ...]] = {}  # option -> knobs that its default follows
        self.parsed: dict[int, Parsed] = {}  # by identity of the namespace
        self.settled: set[int] = set()  # namespaces of which nothing is left but reads of their fields
        self.additions: dict[int, set[str]] = {}  # namespace -> fields that code may have added; "": any
        self.decisions: dict[ast.AST, tuple[bool, tuple[str, ...]]] = {}  # tests in straight code -> outcome, knobs
        self.attempts: dict[ast.Try, list[ast.stmt]] = {}  # whether they raise is decided by knobs -> what runs
        self.moments: dict[ast.AST, Constant] = {}  # reads in straight code -> what they gave when it ran
        self.stored = _stored_attributes(program)
        self.sets_any_attribute = _sets_any_attribute(program)
        self.escaped: set[ast.expr] = set()  # calls that give options which code may change that nobody can follow
        self.listed: dict[ast.ClassDef, dict[str, Constant]] = {}  # classes that only list settings
        self.keeping = plain.Keeping(self)
        self.troubles: dict[ast.AST, UnknownValueError] = {}  # statements that no parser can be followed through
        self.rejected: dict[ast.AST, tuple[Module, RaisedError]] = {}
        self.resolved: dict[str, tuple[Any, tuple[str, ...], Place]] = {}  # variable -> what it became first
        major, minor = map(int, program.settings.profile.machine.python.split("."))
        self.version = Version(major, minor)
        self._modules: dict[str, Flow] = {}
        self._functions: dict[ast.AST, Flow] = {}
        self._parameters: dict[tuple[Scope, str], Constant | None] = {}
        self._uses: dict[Variable, list[tuple[Module, Occurrence]]] | None = None
        self._attributes: dict[str, bool] = {}
        self._as_made: set[Variable] = set()
        self._calls: dict[str, dict[ast.AST, ast.AST]] = {}

    @functools.cached_property
    def instances_stay(self) -> bool:
        """Whether nothing writes into objects past their class: then a frozen instance stays what it is."""
        for module in self.program.modules.values():
            for node in module.every(ast.Attribute):
                own = isinstance(node.value, ast.Name) and node.value.id == "self"
                if node.attr in ("__setattr__", "__delattr__"):
                    return False
                if node.attr == "__dict__" and not own and not self.is_only_read(module, node):
                    return False
            for call in module.every(ast.Call):
                table = isinstance(call.func, ast.Name) and call.func.id == "vars" and call.args
                if table and not self.is_only_read(module, call):
                    return False
        return True

    def evaluator(self, module: Module, run: Run | None = None) -> Code:
        """An evaluator for expressions of a module, wherever they stand in it."""
        return Code(self, module, {}, run)

    def place(self, module: Module, node: ast.AST) -> Place:
        """File and line of a node."""
        return module.source.name, getattr(node, "lineno", 1)

    def may_hold(self, namespace: argparse.Namespace, name: str) -> bool:
        """Whether code that nobody followed may have added a field to options."""
        added = self.additions.get(id(namespace), ())
        return name in added or "" in added

    # Modules and variables

    def module_flow(self, module: Module) -> Flow:
        """What following a module's own statements gave."""
        if module.name not in self._modules:
            flow = self._modules[module.name] = Flow(self, module, module.scope)
            flow.follow(module.tree.body)
            flow.done = True
        return self._modules[module.name]

    def variable(self, variable: Variable, node: ast.AST, run: Run) -> Any:
        """The value of a module's variable, when its module has run."""
        module = self.program.modules[variable.module]
        definition = self.bindings.definition(variable)
        if isinstance(definition, ast.FunctionDef):
            return Function(self.evaluator(module, run), definition)
        if isinstance(definition, ast.ClassDef):
            return variable
        unknown = UnknownValueError(node, f"the value of `{variable.name}` is not known")
        if self.bindings.changes(variable):
            raise unknown
        flow = self.module_flow(module)
        if not flow.done:  # its code is running: a helper reads what is there by now
            if flow is not self._running():
                raise unknown
            value = flow.variables.get(variable.name, UNKNOWN)
            knobs = flow.knobs.get(variable.name, ())
        else:
            value, knobs = flow.final(variable.name)
        if value is UNKNOWN or (flow.done and not self.is_steady(variable, value)):
            raise unknown
        run.use(*knobs)
        return value

    def _running(self) -> Flow | None:
        return next((flow for flow in reversed(self._modules.values()) if not flow.done), None)

    def attempted(self, module: Module, node: ast.Try) -> list[ast.stmt] | None:
        """What runs in the end of a `try` whose assignment knobs decide; None for any other."""
        target = next((child for child in trees.nodes(node) if child in module.by_node), None)
        if target is not None:
            scope = module.by_node[target].scope
            if scope is module.scope:
                self.module_flow(module)
            elif scope.kind == "function" and isinstance(scope.node, FunctionNode):
                self.function_flow(module, scope)
        return self.attempts.get(node)

    def is_steady(self, variable: Variable, value: Any) -> bool:
        """Whether a value stays what it was when its module had run: it cannot change, or nothing changes it."""
        steady = (Function, Instance, plain.Settings, External, Environ, range, argparse.Namespace)
        if values.is_constant(value) or isinstance(value, steady):
            return True
        return self.stays_as_made(variable)

    def stays_as_made(self, variable: Variable) -> bool:
        """Whether nothing changes a container, and nothing but straight code a parser."""
        if variable not in self._as_made and all(self.only_reads(*use) for use in self.uses(variable)):
            self._as_made.add(variable)  # for good: parsers are found on the way, and nothing else changes
        return variable in self._as_made

    def only_reads(self, module: Module, occurrence: Occurrence) -> bool:
        """Whether one use of a container or parser leaves it as it is."""
        if occurrence.kind != "load":
            return occurrence.kind in ("import", "type_load") or not occurrence.scope.deferred
        flow = self._modules.get(module.name)
        if not occurrence.scope.deferred and flow is not None and occurrence.name in flow.parsers:
            return True  # a parser is filled by straight code, which is followed
        return self.is_only_read(module, occurrence.node)

    def is_only_read(self, module: Module, node: ast.AST) -> bool:
        """Whether the code around an expression that gives a container leaves the container as it is, and keeps none of
        it.
        """
        around = self.parents(module).get(node)
        match around:
            case ast.Attribute(attr=name):
                call = self.parents(module).get(around)
                return name in values.READING_NAMES and isinstance(call, ast.Call) and call.func is around
            case ast.Subscript(ctx=ast.Load(), value=value):
                return value is node and not isinstance(self.parents(module).get(around), ast.Attribute)
            case ast.Compare(ops=ops):
                return not any(isinstance(op, ast.Is | ast.IsNot) for op in ops)
            case ast.For() | ast.comprehension() | ast.Starred() | ast.FormattedValue():
                return True
            case ast.Call(func=ast.Name(id=name)):
                return name in READERS
            case ast.Call(func=ast.Attribute(value=ast.Name(id="json"), attr="dumps")):
                return True
            case ast.Call(func=ast.Attribute(attr="parse_args" | "parse_known_args")):
                return True
            case ast.keyword(arg="choices" | None):
                return True
            case ast.Assign(targets=[ast.Name() as target]):
                return self.is_only_read_local(module, target)
        return False

    def is_only_read_local(self, module: Module, target: ast.Name) -> bool:
        """Whether a function's variable is bound here alone, and the code that reads it leaves its value as it is."""
        bound = module.by_node[target]
        home = bound.home()
        if home.kind != "function" or len(home.bound[bound.name]) != 1 or self.is_bound_inside(home, bound.name):
            return False
        places = (place for place in module.places(home, bound.name) if place is not bound)
        return all(place.kind == "load" and self.is_only_read(module, place.node) for place in places)

    def is_only_read_attribute(self, name: str) -> bool:
        """Whether nothing in the program changes or keeps a container that is an attribute of this name."""
        if name not in self._attributes:
            self._attributes[name] = all(
                not isinstance(node.ctx, ast.Load) or self.is_only_read(module, node)
                for module in self.program.modules.values()
                for node in module.every(ast.Attribute)
                if node.attr == name
            )
        return self._attributes[name]

    def uses(self, variable: Variable) -> list[tuple[Module, Occurrence]]:
        """Every place that means a variable."""
        if self._uses is None:
            self._uses = {}
            for module in self.program.modules.values():
                for occurrence in module.scope.occurrences:
                    reference = self.bindings.of(module, occurrence)
                    if reference is not None and isinstance(reference.meaning, Variable):
                        self._uses.setdefault(reference.meaning, []).append((module, occurrence))
        return self._uses.get(variable, [])

    def parents(self, module: Module) -> dict[ast.AST, ast.AST]:
        """The node around each node of a module."""
        if module.name not in self._calls:
            self._calls[module.name] = trees.parents(module.tree)
        return self._calls[module.name]

    # Locals and parameters

    def function_flow(self, module: Module, scope: Scope) -> Flow | None:
        """What following a function's statements gave; None while they, or a module's, are being followed."""
        if scope.node not in self._functions:
            if self._running() is not None:
                return None
            flow = self._functions[scope.node] = Flow(self, module, scope)
            flow.follow(scope.node.body)  # type: ignore[attr-defined]  # a function
            flow.done = True
        flow = self._functions[scope.node]
        return flow if flow.done else None

    def local(self, module: Module, occurrence: Occurrence, run: Run, by_knobs: bool = True) -> Any:
        """The value of a function's own variable or parameter: bound once, before everything that can read it."""
        home = occurrence.home()
        unknown = UnknownValueError(occurrence.node, f"the value of `{occurrence.name}` is not known")
        if home.kind != "function":
            raise unknown
        known = self.local_constant(module, home, occurrence.name)
        settings = known is not None and isinstance(known[0], plain.Settings)
        if known is None or (by_knobs and not known[1] and not settings):
            raise unknown  # what no knob decides is the program's own affair
        run.use(*known[1])
        return known[0]

    def local_constant(self, module: Module, scope: Scope, name: str) -> Constant | None:
        """The only value that a function's variable or parameter ever has, when it can be told."""
        bound = scope.bound.get(name, [])
        if self.is_bound_inside(scope, name):
            return None
        if any(one.kind == "parameter" for one in bound):
            known = self.parameter(module, scope, name) if len(bound) == 1 else None
            if known is None or self.is_lasting(known[0]):
                return known
            places = (place for place in module.places(scope, name) if place.kind == "load")
            return known if all(self.is_only_read(module, place.node) for place in places) else None
        flow = self.function_flow(module, scope)
        if flow is None:
            return None
        value, knobs = flow.final(name)
        return (value, knobs) if value is not UNKNOWN and self.is_lasting(value) else None

    def is_lasting(self, value: Any) -> bool:
        """Whether a value cannot change, or is one whose changes are looked for where it is read."""
        return values.is_constant(value) or isinstance(value, (Instance, plain.Settings, argparse.Namespace))

    def function_in(self, module: Module, occurrence: Occurrence) -> Function | None:
        """The function of the recipe that a function's variable holds."""
        home = occurrence.home()
        if home.kind != "function" or occurrence.attributes or self.is_bound_inside(home, occurrence.name):
            return None
        flow = self.function_flow(module, home)
        value = flow.final(occurrence.name)[0] if flow is not None else None
        return value if isinstance(value, Function) else None

    def is_bound_inside(self, scope: Scope, name: str) -> bool:
        """Whether a function inside binds a variable of this one (`nonlocal`)."""
        return any(occurrence.scope is not scope for occurrence in scope.bound.get(name, []))

    def parameter(self, module: Module, scope: Scope, name: str) -> Constant | None:
        """The value that every call gives to a parameter, when all calls are known and give the same."""
        key = (scope, name)
        if key not in self._parameters:
            if self._running() is not None:
                return None
            self._parameters[key] = None  # while looking: a function that calls itself
            self._parameters[key] = self._parameter(module, scope, name)
        return self._parameters[key]

    def _parameter(self, module: Module, scope: Scope, name: str) -> Constant | None:
        function = scope.node
        if not isinstance(function, FunctionNode) or scope.parent is not module.scope:
            return None
        code = self.evaluator(module)
        called = [one.func if isinstance(one, ast.Call) else one for one in function.decorator_list]
        if any(code.path(one) not in PASSING for one in called):
            return None
        variable = Variable(module.name, function.name)
        if self.bindings.definition(variable) is not function:
            return None
        hooks = {hook.name: hook.parameters for hook in own_hooks(self.program.settings.profile)}
        if module is self.program.entry and name in hooks.get(function.name, ()):
            return None  # the contest gives it
        found: list[Constant] = []
        for home, occurrence in self.uses(variable):
            if occurrence.kind in ("definition", "import"):
                if home.name != module.name and occurrence.home() is home.scope and "__all__" in home.scope.bound:
                    return None
                continue
            call = self.call_of(home, occurrence)
            if call is None:
                return None
            given = self.argument(home, call, module, function, name)
            if given is None or (found and not _same(found[0][0], given[0])):
                return None
            found.append(given)
        if not found:
            return None
        return found[0][0], tuple(dict.fromkeys(knob for _, knobs in found for knob in knobs))

    def call_of(self, module: Module, occurrence: Occurrence) -> ast.Call | None:
        """The call whose function an occurrence is; None for any other use."""
        reference = self.bindings.of(module, occurrence)
        if reference is None or occurrence.kind != "load":
            return None
        node: ast.AST = occurrence.attributes[reference.attributes - 1] if reference.attributes else occurrence.node
        return module.call_of(node)

    def argument(
        self, home: Module, call: ast.Call, module: Module, function: FunctionNode, name: str
    ) -> Constant | None:
        """What one call gives to a parameter."""
        if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
            return None
        written = argument_of(call, function, name)
        run = Run()
        try:
            if isinstance(written, ast.Name) and home.by_node[written].home().kind == "function":
                return self.local(home, home.by_node[written], run, by_knobs=False), tuple(run.used)
            if written is not None:
                return self.evaluator(home, run).evaluate(written), tuple(run.used)
            default = default_of(function, name)
            if default is None or not values.is_constant(value := self.evaluator(module, run).evaluate(default)):
                return None
        except (UnknownValueError, RaisedError):
            return None
        return value, tuple(run.used)

    # Calls

    def invoke(self, function: Function, run: Run, positional: list[Any], named: dict[str, Any]) -> Any:
        """The value of a call of a function of the recipe."""
        node, outer = function.node, function.evaluator
        variables = self.bind(function, run, positional, named)
        scope = outer.module.scope.scopes[node]
        inner = Code(self, outer.module, variables, run, scope, (outer.variables, *outer.closure))
        if isinstance(node, ast.Lambda):
            return inner.evaluate(node.body)
        if any(isinstance(child, (ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal)) for child in trees.nodes(node)):
            raise UnknownValueError(node, f"`{node.name}` is not a plain function")
        for decorator in node.decorator_list:
            if outer.path(decorator.func if isinstance(decorator, ast.Call) else decorator) not in CACHES:
                raise UnknownValueError(decorator, f"what the decorator of `{node.name}` does is not known")
        value = inner.run(node.body)
        if node.decorator_list and reachable(value) and not self.is_only_asked(outer.module, node):
            raise UnknownValueError(node, f"`{node.name}` gives all callers one object, which some of them may change")
        return value

    def is_only_asked(self, module: Module, function: ast.FunctionDef) -> bool:
        """Whether every use of a function of a module calls it, and leaves what comes of that as it is."""
        variable = Variable(module.name, function.name)
        if self.bindings.definition(variable) is not function:
            return False
        calls = [(home, self.call_of(home, use)) for home, use in self.uses(variable) if use.kind == "load"]
        return all(call is not None and self.is_only_read(home, call) for home, call in calls)

    def bind(self, function: Function, run: Run, positional: list[Any], named: dict[str, Any]) -> dict[str, Any]:
        """Parameters and their values for a call."""
        node = function.node
        parameters = node.args
        names = [one.arg for one in (*parameters.posonlyargs, *parameters.args)]
        variables = dict(zip(names, positional, strict=False))
        rest, extra = positional[len(names) :], {}
        for name, value in named.items():
            if name in variables or name in [one.arg for one in parameters.posonlyargs]:
                raise UnknownValueError(node, "the arguments do not fit")
            if name in names or name in [one.arg for one in parameters.kwonlyargs]:
                variables[name] = value
            else:
                extra[name] = value
        if (rest and parameters.vararg is None) or (extra and parameters.kwarg is None):
            raise UnknownValueError(node, "the arguments do not fit")
        if parameters.vararg:
            variables[parameters.vararg.arg] = tuple(rest)
        if parameters.kwarg:
            variables[parameters.kwarg.arg] = run.own(extra)
        for one in (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs):
            if one.arg not in variables:
                default = default_of(node, one.arg)
                if default is None or not function.evaluator.is_fixed(default):
                    raise UnknownValueError(node, "the arguments do not fit")
                behind = len(run.read)
                value = function.evaluator.evaluate(default)
                del run.read[behind:]  # read when the function was made, not by this call
                if isinstance(value, values.MUTABLE):
                    raise UnknownValueError(default, "a default that may change is not evaluated")
                variables[one.arg] = value
        return variables

    # The environment

    def read_variable(self, module: Module, node: ast.AST, run: Run, name: Any, written: bool = True) -> str | None:
        """The value of an environment variable, None where it is not set; `written`: what the program sets counts."""
        if not isinstance(name, str):
            raise UnknownValueError(node, "the name of the variable is not known")
        if self.program.settings.is_owned(name):
            raise UnknownValueError(node, f"`{name}` belongs to the launcher")
        if name in SYSTEM and name not in self.environment.given:
            raise UnknownValueError(node, f"every system sets `{name}` for itself, and it is not among the settings")
        writes = self.environment.writes.get(name, [])
        value = self.environment.read(name, self.place(module, node))
        run.use(name)
        run.read.append(name)
        if not writes or not written or (value is not None and all(write.keeps for write in writes)):
            return value
        if len(writes) == 1 and self.is_before(node, writes[0]):
            return value
        return self.written(module, node, name, writes)

    def is_before(self, node: ast.AST, write: Write) -> bool:
        """Whether a read stands in what the only write of its variable sets it to: `environ["X"] = environ.get("X", 1)`
        in a module's straight code.
        """
        statement = write.module.parts[write.occurrence.part].node
        direct = isinstance(statement, (ast.Assign, ast.Expr)) and write.occurrence.scope is write.module.scope
        inside = list(trees.nodes(write.value))
        at_once = not any(isinstance(child, ast.Lambda) for child in inside)
        return direct and at_once and any(child is node for child in inside)

    def written(self, module: Module, node: ast.AST, name: str, writes: list[Write]) -> str:
        """The value of a variable that the program itself sets, once, in a module's straight code before the read."""
        unknown = UnknownValueError(node, f"the program itself sets `{name}`")
        write = writes[0]
        if len(writes) > 1 or write.occurrence.scope is not write.module.scope:
            raise unknown
        statement = write.module.parts[write.occurrence.part].node
        match statement:
            case ast.Assign(targets=[ast.Name()], value=value) | ast.Expr(value=value):
                direct = value is write.node
            case _:
                direct = statement is write.node
        before = write.module is module and getattr(node, "lineno", 0) > statement.lineno
        if not direct or not before:
            raise unknown
        value = self.evaluator(write.module).evaluate(write.value)
        if not isinstance(value, str):
            raise unknown
        return value

    def known_at(self, node: ast.AST) -> Constant | None:
        """What a test or read in straight code gave when it ran; a container is a copy."""
        known = self.decisions.get(node) or self.moments.get(node)
        return (copy.deepcopy(known[0]), known[1]) if known else None

    def outcome(self, module: Module, test: ast.expr) -> bool | None:
        """What knobs decide a test to be; None where they do not."""
        known = self.known_at(test)
        if known is not None:
            return bool(known[0]) if known[1] else None
        run = Run()
        try:
            code = self.evaluator(module, run)
            value = code.truth(test, code.evaluate(test))
        except (UnknownValueError, RaisedError):
            return None
        return value if run.used else None

    def is_parser(self, module: Module, occurrence: Occurrence) -> bool:
        """Whether a name holds a parser of the command line."""
        flow = self._flow_of(module, occurrence.home())
        return flow is not None and occurrence.name in flow.parsers

    def is_followed(self, module: Module, scope: Scope, node: ast.stmt) -> bool:
        """Whether a statement was evaluated whole."""
        flow = self._flow_of(module, scope)
        return flow is not None and node in flow.followed

    def _flow_of(self, module: Module, scope: Scope) -> Flow | None:
        if scope is module.scope:
            return self._modules.get(module.name)
        return self._functions.get(scope.node)

    def resolve(self, module: Module, node: ast.AST, value: Any) -> bool:
        """Note what a read of the environment or the command line became. False for anything else."""
        if node in self.moments:
            return True  # noted when it ran
        run = Run()
        self.evaluator(module, run).evaluate(node)  # type: ignore[arg-type]
        self.note(variable_of(node, run.read), value, tuple(run.used), self.place(module, node))
        return bool(run.read)

    def note(self, variable: str | None, value: Any, knobs: tuple[str, ...], place: Place) -> None:
        """Note what a read of a variable became: the outermost one counts, which comes last at one place."""
        if variable is None or not isinstance(value, (*values.PLAIN, tuple, list, dict)):
            return
        before = self.resolved.get(variable)
        if before is None or (before[2] == place and value is not None):  # None: what a parser's methods return
            self.resolved[variable] = (copy.deepcopy(value), knobs, place)

    def start_again(self, escaped: set[ast.expr]) -> None:
        """Follow everything anew, now that it is known which options escape."""
        self.escaped |= escaped
        self._modules.clear()
        self._functions.clear()
        self._parameters.clear()
        for found in (
            self.parsed,
            self.additions,
            self.decisions,
            self.attempts,
            self.moments,
            self.listed,
            self.rejected,
            self.resolved,
            self.troubles,
        ):
            found.clear()

    def forget_functions(self) -> None:
        """Follow functions anew when next asked, those aside that options come from."""
        origins = {parsed.flow for parsed in self.parsed.values()}
        self._functions = {node: flow for node, flow in self._functions.items() if flow in origins}
        self._parameters.clear()


def _stored_attributes(program: Program) -> dict[str, list[ast.expr]]:
    """Attributes that some code sets by name on anything but `self`, with the places."""
    found: dict[str, list[ast.expr]] = {}
    for module in program.modules.values():
        for node in module.every(ast.Attribute):
            if isinstance(node.ctx, ast.Load):
                continue
            if not (isinstance(node.value, ast.Name) and node.value.id == "self"):
                found.setdefault(node.attr, []).append(node)
        for call in module.every(ast.Call):
            match call:
                case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[_, ast.Constant(value=str(name)), *_]):
                    found.setdefault(name, []).append(call)
    return found


def _sets_any_attribute(program: Program) -> bool:
    """Whether some code sets attributes by names that are not known, on anything but `self`."""
    for module in program.modules.values():
        for call in module.every(ast.Call):
            match call:
                case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[owner, name, *_]):
                    own = isinstance(owner, ast.Name) and owner.id == "self"
                    if not own and not isinstance(name, ast.Constant):
                        return True
                case ast.Call(func=ast.Name(id="setattr" | "delattr")):
                    return True
    return False


def _same(one: Any, other: Any) -> bool:
    """Whether two values cannot be told apart."""
    if isinstance(one, argparse.Namespace) or isinstance(other, argparse.Namespace):
        return one is other
    return type(one) is type(other) and repr(one) == repr(other) and not isinstance(one, (Function, Instance))

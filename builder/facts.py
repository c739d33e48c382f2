"""What the builder knows of the program's values: of module-level variables, of locals and of parameters, as far as
settings decide them.

    facts.evaluator(module).evaluate(node)        the value of an expression wherever it stands, or UnknownValueError

Straight code (statements that run exactly once, in order) is followed by evaluating it; what is not understood makes
the names that it touches unknown, never wrong. A value may be read where it cannot have changed any more: a variable
that is bound once, or the state of a module whose code has run.
"""

from __future__ import annotations

import argparse
import ast
import copy
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from builder import arguments, trees, values
from builder.bindings import Bindings, Outside, Variable
from builder.configs import Configs
from builder.environment import ENVIRON, Environ, Environment, Place, Write, outside_path
from builder.knobs import Config
from builder.scan import InPackage, Module, Program, is_typing_block
from builder.scopes import Occurrence, Scope
from builder.values import UNKNOWN, Evaluator, RaisedError, Run, UnknownValueError

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
MACHINE = "the contest's machine"
# Decorators that hand arguments on as they are.
PASSING = (
    "torch.compile",
    "torch.compiler.disable",
    "torch.distributed.elastic.multiprocessing.errors.record",
    "torch.enable_grad",
    "torch.inference_mode",
    "torch.no_grad",
)
READERS = frozenset({"all", "any", "dict", "enumerate", "len", "list", "max", "min", "print", "repr", "set", "sorted"})
READERS |= {"str", "sum", "tuple", "zip"}
# Set wherever a program runs: taking them for unset would be a guess.
SYSTEM = frozenset(
    {"HOME", "HOSTNAME", "LANG", "LD_LIBRARY_PATH", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "USER"}
)
CACHES = ("functools.cache", "functools.lru_cache")


@dataclass(frozen=True)
class External:
    """Something from outside of the recipe, by its dotted name."""

    path: str


@dataclass(frozen=True)
class Version:
    """`sys.version_info` of the contest's machine, of which major and minor are known."""

    major: int
    minor: int


@dataclass(frozen=True, eq=False)
class Instance:
    """An instance of a frozen dataclass of the recipe."""

    variable: Variable
    node: ast.ClassDef
    fields: dict[str, Any]


HOLDERS = (tuple, *values.MUTABLE)  # values that may hold what can change


@dataclass(frozen=True, eq=False)
class Function:
    """A function of the recipe as a value: calling it evaluates its body."""

    evaluator: Code
    node: ast.FunctionDef | ast.Lambda

    def __call__(self, *positional: Any, **named: Any) -> Any:
        """Evaluate a call. Raises UnknownValueError and RaisedError."""
        return self.evaluator.facts.invoke(self, self.evaluator.context, list(positional), named)


Constant = tuple[Any, tuple[str, ...]]  # a value, and the knobs that had a part in it


@dataclass(frozen=True)
class Parsed:
    """A call in straight code that gave the options: where, what came out at once, and what is left in the end."""

    module: Module
    call: ast.expr
    flow: Flow
    target: ast.Name
    first: dict[str, Any]
    namespace: argparse.Namespace
    knobs: tuple[str, ...]
    rest: list[str] | None = None  # of `args, rest = parser.parse_known_args()`


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
        self.option_places: dict[str, Place] = {}
        self.option_uses: dict[str, tuple[str, ...]] = {}  # option -> knobs that its default follows
        self.parsed: dict[int, Parsed] = {}  # by identity of the namespace
        self.settled: set[int] = set()  # namespaces of which nothing is left but reads of their fields
        self.decisions: dict[ast.AST, tuple[bool, tuple[str, ...]]] = {}  # tests in straight code -> outcome, knobs
        self.attempts: dict[ast.Try, list[ast.stmt]] = {}  # whether they raise is decided by knobs -> what runs
        self.moments: dict[ast.AST, Constant] = {}  # reads in straight code -> what they gave when it ran
        self.stored = _stored_attributes(program)
        self.sets_any_attribute = _sets_any_attribute(program)
        self.escaped: set[ast.expr] = set()  # calls that give options which code may change that nobody can follow
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
        self.instances_stay = not any(
            node.attr in ("__setattr__", "__delattr__")
            for module in program.modules.values()
            if "attr__" in module.source.text
            for node in module.every(ast.Attribute)
        )
        self._calls: dict[str, dict[ast.AST, ast.AST]] = {}

    def evaluator(self, module: Module, run: Run | None = None) -> Code:
        """An evaluator for expressions of a module, wherever they stand in it."""
        return Code(self, module, {}, run)

    def place(self, module: Module, node: ast.AST) -> Place:
        """File and line of a node."""
        return module.source.name, getattr(node, "lineno", 1)

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
        steady = (Function, Instance, External, Environ, range, argparse.Namespace)
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
                reading = {name for names in values.READING.values() for name in names}
                return name in reading and isinstance(call, ast.Call) and call.func is around
            case ast.Subscript(ctx=ast.Load(), value=value):
                return value is node and not isinstance(self.parents(module).get(around), ast.Attribute)
            case ast.Compare() | ast.For() | ast.comprehension() | ast.Starred() | ast.FormattedValue():
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
        places = (o for o in module.scope.occurrences if o.name == bound.name and o.home() is home and o is not bound)
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
        if known is None or (by_knobs and not known[1]):  # what no knob decides is the program's own affair
            raise unknown
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
            places = (o for o in module.scope.occurrences if o.name == name and o.home() is scope and o.kind == "load")
            return known if all(self.is_only_read(module, place.node) for place in places) else None
        flow = self.function_flow(module, scope)
        if flow is None:
            return None
        value, knobs = flow.final(name)
        return (value, knobs) if value is not UNKNOWN and self.is_lasting(value) else None

    def is_lasting(self, value: Any) -> bool:
        """Whether a value cannot change, or is one whose changes are looked for where it is read."""
        return values.is_constant(value) or isinstance(value, (Instance, argparse.Namespace))

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
        hooks = {hook.name: hook.parameters for hook in self.program.settings.profile.hooks}
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
        return inner.run(node.body)

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

    def read_variable(self, module: Module, node: ast.AST, run: Run, name: Any) -> str | None:
        """The value of an environment variable, None where it is not set."""
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
        if not writes or (value is not None and all(write.keeps for write in writes)):
            return value
        return self.written(module, node, name, writes)

    def written(self, module: Module, node: ast.AST, name: str, writes: list[Write]) -> str:
        """The value of a variable that the program itself sets, once, in a module's straight code before the read."""
        unknown = UnknownValueError(node, f"the program itself sets `{name}`")
        write = writes[0]
        if len(writes) > 1 or write.occurrence.scope is not write.module.scope:
            raise unknown
        statement = write.module.parts[write.occurrence.part].node
        direct = isinstance(statement, (ast.Assign, ast.Expr))
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
        self.note(_variable_of(node, run.read), value, tuple(run.used), self.place(module, node))
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
            self.decisions,
            self.attempts,
            self.moments,
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


class Code(values.Frame):
    """Evaluates code of one module: names mean what they mean in the program."""

    def __init__(
        self,
        facts: Facts,
        module: Module,
        variables: dict[str, Any],
        run: Run | None = None,
        scope: Scope | None = None,
        closure: tuple[dict[str, Any], ...] = (),
    ) -> None:
        super().__init__(variables, run)
        self.facts = facts
        self.module = module
        self.scope = scope  # of the function whose body runs
        self.closure = closure

    # Names

    def name(self, node: ast.Name) -> Any:
        """A variable of a function around, a local that has one value, or what the module means by the name."""
        occurrence = self.module.by_node.get(node)
        unknown = UnknownValueError(node, f"the value of `{node.id}` is not known")
        if occurrence is None:
            raise unknown
        home = occurrence.home()
        if home is self.module.scope:
            return self.global_name(node, occurrence)
        if home is self.scope:
            raise unknown
        for variables in self.closure:
            if node.id in variables:
                if variables[node.id] is UNKNOWN:
                    raise unknown
                return variables[node.id]
        return self.facts.local(self.module, occurrence, self.context)

    def global_name(self, node: ast.Name, occurrence: Occurrence) -> Any:
        """What a name means at the module's level."""
        reference = self.facts.bindings.of(self.module, occurrence)
        if reference is None:
            return self.builtin(node, occurrence)
        if reference.attributes:
            raise UnknownValueError(node, "a module is no value")
        return self.meaning(node, reference.meaning)

    def is_fixed(self, default: ast.expr) -> bool:
        """Whether a default, evaluated when its function was made, has the same value at any later time."""
        for child in trees.nodes(default):
            occurrence = self.module.by_node.get(child) if isinstance(child, ast.Name) else None
            if occurrence is None:
                continue
            reference = self.facts.bindings.of(self.module, occurrence)
            if occurrence.home() is not self.module.scope:
                return False
            if reference and isinstance(reference.meaning, Variable):
                meaning = reference.meaning
                if len(self.facts.bindings.modules[meaning.module].scope.bound.get(meaning.name, ())) != 1:
                    return False
        return True

    def builtin(self, node: ast.Name, occurrence: Occurrence) -> Any:
        """A builtin function or exception as a value."""
        if self.facts.bindings.is_builtin(self.module, occurrence):
            if node.id in values.FUNCTIONS:
                return values.FUNCTIONS[node.id]
            if node.id in values.EXCEPTIONS:
                return values.EXCEPTIONS[node.id]
        raise UnknownValueError(node, f"the value of `{node.id}` is not known")

    def meaning(self, node: ast.AST, meaning: object) -> Any:
        """The value of a variable of the recipe, or of something from outside."""
        if isinstance(meaning, Variable):
            return self.facts.variable(meaning, node, self.context)
        if isinstance(meaning, Outside):
            return self.external(node, meaning.path)
        if isinstance(meaning, InPackage):
            raise UnknownValueError(node, "a module is no value")
        raise UnknownValueError(node, "the value is not known")

    def attribute(self, node: ast.Attribute) -> Any:
        """A knob of the config, or a variable of a module of the recipe by its dotted name."""
        facts = self.facts
        if facts.config is not None and facts.configs.is_config(self.module, node.value):
            try:
                value = facts.config.read(node.attr)
            except KeyError as error:
                raise UnknownValueError(node, f"the config has no `{node.attr}`") from error
            self.context.use(node.attr)
            return value
        root: ast.AST = node
        while isinstance(root, ast.Attribute):
            root = root.value
        occurrence = self.module.by_node.get(root)
        reference = self.facts.bindings.of(self.module, occurrence) if occurrence else None
        used = reference.attributes if reference else 0
        if occurrence and reference and used and occurrence.attributes[used - 1] is node:
            return self.meaning(node, reference.meaning)
        raise UnknownValueError(node, f"the value of `.{node.attr}` is not known")

    def external(self, node: ast.AST, path: str) -> Any:
        """Something from outside: known, or by its name."""
        facts = self.facts
        if path == "os.environ":
            return ENVIRON
        if path == "sys.argv":
            self.context.use("sys.argv")
            self.context.read.append("sys.argv")
            script = facts.program.settings.profile.launch.script
            return [script, *facts.environment.arguments]  # made anew each time: changing it is not evaluated
        if path.startswith("argparse.") and path.removeprefix("argparse.") in arguments.NAMES:
            return getattr(argparse, path.removeprefix("argparse."))
        if path.startswith("math.") and not callable(values.MATH.get(path.removeprefix("math."), len)):
            return values.MATH[path.removeprefix("math.")]
        known = {"sys.platform": "linux", "os.name": "posix", "typing.TYPE_CHECKING": False, "sys.byteorder": "little"}
        if path in known or path == "sys.version_info":
            self.context.use(MACHINE)
            return facts.version if path == "sys.version_info" else known[path]
        return External(path)

    def path(self, node: ast.expr) -> str:
        """The dotted name of something from outside; "" for anything else."""
        root: ast.AST = node
        while isinstance(root, ast.Attribute):
            root = root.value
        occurrence = self.module.by_node.get(root)
        return outside_path(self.facts.bindings, self.module, occurrence) if occurrence else ""

    def reads_environment(self, node: ast.expr) -> bool:
        """Whether an expression is the environment, or a function that reads it, under whatever name."""
        path = self.path(node)
        if path:
            return path.startswith(("os.environ", "os.getenv", "sys.argv"))
        try:
            value = self.evaluate(node)
        except (UnknownValueError, RaisedError):
            return isinstance(node, ast.Attribute) and self.reads_environment(node.value)
        return value is ENVIRON or (isinstance(value, External) and value.path.startswith(("os.environ", "os.getenv")))

    # Values that are no plain data

    def member(self, node: ast.Attribute, owner: Any) -> Any:
        """Fields of instances, members of outside modules, parts of the version."""
        match owner:
            case Environ() if node.attr == "get":
                return External("os.environ.get")
            case External():
                return self.external(node, f"{owner.path}.{node.attr}")
            case Version() if node.attr in ("major", "minor"):
                return getattr(owner, node.attr)
            case Instance():
                return self.field(node, owner)
            case argparse.Namespace():
                self.check_option(node, owner)
        return super().member(node, owner)

    def check_option(self, node: ast.Attribute, owner: argparse.Namespace) -> None:
        """Refuse to read an option that may have another value at this place."""
        parsed = self.facts.parsed.get(id(owner))
        if parsed is None:
            return
        self.context.use(*parsed.knobs)
        if parsed.call in self.facts.escaped and self is not parsed.flow:
            raise UnknownValueError(node, "the options reach code that cannot be followed")
        moves = node.attr in self.facts.stored and id(owner) not in self.facts.settled and self is not parsed.flow
        value = vars(owner).get(node.attr)
        changes = isinstance(value, values.MUTABLE) and not self.facts.is_only_read_attribute(node.attr)
        if moves or changes or value is UNKNOWN:
            raise UnknownValueError(node, f"the option `{node.attr}` is set elsewhere")

    def field(self, node: ast.Attribute, owner: Instance) -> Any:
        """A field or property of a frozen dataclass."""
        if node.attr in owner.fields:
            return owner.fields[node.attr]
        for statement in owner.node.body:
            match statement:
                case ast.FunctionDef(name=name, decorator_list=[ast.Name(id="property")]) if name == node.attr:
                    home = self.facts.program.modules[owner.variable.module]
                    return self.facts.invoke(
                        Function(self.facts.evaluator(home, self.context), _undecorated(statement, home)),
                        self.context,
                        [owner],
                        {},
                    )
        raise UnknownValueError(node, f"the value of `.{node.attr}` is not known")

    def item(self, node: ast.Subscript, owner: Any, key: Any) -> Any:
        """`os.environ["X"]`, `sys.version_info[0]`, or an item of a container."""
        if owner is ENVIRON:
            value = self.facts.read_variable(self.module, node, self.context, key)
            if value is None:
                raise RaisedError(node, "KeyError", f"the variable {key} is not set", KeyError)
            return value
        if isinstance(owner, Version):
            known = {0: owner.major, 1: owner.minor}
            if isinstance(key, int) and key in known:
                return known[key]
            if key == slice(None, 2, None) or key == slice(0, 2, None):
                return (owner.major, owner.minor)
            raise UnknownValueError(node, "only major and minor version of the contest's Python are known")
        if not isinstance(owner, (str, bytes, tuple, list, dict, range)):
            raise UnknownValueError(node, "an item of such a value is not known")
        return super().item(node, owner, key)

    def compare(self, node: ast.Compare, op: ast.cmpop, left: Any, right: Any) -> Any:
        """`"X" in os.environ`, comparisons of the version, and of plain values."""
        if right is ENVIRON and isinstance(op, (ast.In, ast.NotIn)):
            is_set = self.facts.read_variable(self.module, node, self.context, left) is not None
            return is_set is isinstance(op, ast.In)
        if isinstance(left, Version) and isinstance(right, tuple):
            here = (left.major, left.minor)
            if len(right) > 2 and right[:2] == here:
                raise UnknownValueError(node, "only major and minor version of the contest's Python are known")
            behind = (*here, 0) if len(right) <= 2 else here  # the version has more numbers than these two
            return self._compute(node, values.COMPARE[type(op)], behind, right)
        return super().compare(node, op, left, right)

    def exception(self, node: ast.expr) -> type[BaseException] | None:
        """Builtin exceptions that nothing hides, and argparse's own."""
        if self.path(node) == "argparse.ArgumentTypeError":
            return argparse.ArgumentTypeError
        occurrence = self.module.by_node.get(node)
        if occurrence is not None and self.facts.bindings.is_builtin(self.module, occurrence):
            return super().exception(node)
        return None

    # Functions

    def define(self, node: ast.FunctionDef) -> None:
        """A function inside of a function."""
        self.variables[node.name] = Function(self, node)

    def _lambda(self, node: ast.Lambda) -> Any:
        return Function(self, node)

    def function(self, node: ast.expr) -> Callable[..., Any] | None:
        """Builtins that nothing in the recipe hides, and the exact functions of math."""
        if isinstance(node, ast.Name):
            occurrence = self.module.by_node.get(node)
            if node.id in self.variables or occurrence is None:
                return None
            builtin = occurrence.home() is self.module.scope and self.facts.bindings.is_builtin(self.module, occurrence)
            return values.FUNCTIONS.get(node.id) if builtin else None
        path = self.path(node)
        found = values.MATH.get(path.removeprefix("math.")) if path.startswith("math.") else None
        return found if callable(found) else None

    def method(self, node: ast.Attribute, owner: Any) -> Callable[..., Any] | None:
        """Methods of the environment and of plain values."""
        if owner is ENVIRON and node.attr in ("get", "setdefault"):
            return self.getter(node)  # that it also sets the variable is for the statement around to keep
        return super().method(node, owner)

    def getter(self, node: ast.AST) -> Callable[..., Any]:
        """`os.environ.get` and `os.getenv`."""

        def get(key: Any, default: Any = None) -> Any:
            value = self.facts.read_variable(self.module, node, self.context, key)
            return default if value is None else value

        return get

    def _check_arguments(
        self, node: ast.Call, function: Callable[..., Any], given: list[Any], named: dict[str, Any]
    ) -> None:
        if getattr(function, "__qualname__", "").startswith("Code.getter."):
            return
        super()._check_arguments(node, function, given, named)

    def _call(self, node: ast.Call) -> Any:
        path = self.path(node.func)
        if path == "argparse.ArgumentParser":
            return self.make_parser(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("add_argument", "add_argument_group"):
            owner = self.evaluate(node.func.value)
            if isinstance(owner, argparse._ActionsContainer):
                return self.add_to_parser(node, owner)
        return super()._call(node)

    def call(self, node: ast.Call, positional: list[Any], named: dict[str, Any]) -> Any:
        """Calls of functions of the recipe, of frozen dataclasses, and of a few others."""
        path = self.path(node.func)
        if path == "os.getenv":
            return self._compute(node, self.getter(node), *positional, **named)
        if isinstance(node.func, ast.Name):
            found = self.inspect(node, node.func, positional, named)
            if found is not UNKNOWN:
                return found
        callee = self.evaluate(node.func)
        if isinstance(callee, External) and callee.path in ("os.getenv", "os.environ.get"):
            return self._compute(node, self.getter(node), *positional, **named)
        if isinstance(callee, Function):
            return callee(*positional, **named)
        if isinstance(callee, Variable):
            return self.instance(node, callee, positional, named)
        if callee in values.FUNCTIONS.values():
            self._check_arguments(node, callee, positional, named)
            return self._compute(node, callee, *positional, **named)
        raise UnknownValueError(node, "this call is not evaluated")

    def inspect(self, node: ast.Call, name: ast.Name, positional: list[Any], named: dict[str, Any]) -> Any:
        """`getattr`, `hasattr`, `vars` and `isinstance` of values that are known."""
        occurrence = self.module.by_node.get(name)
        if occurrence is None or not self.facts.bindings.is_builtin(self.module, occurrence) or named:
            return UNKNOWN
        match name.id, positional:
            case "getattr", [argparse.Namespace() as owner, str(key), *default] if len(default) <= 1:
                if key in owner or default:
                    return getattr(owner, key, *default)
            case "hasattr", [argparse.Namespace() as owner, str(key)]:
                return key in owner
            case "vars", [argparse.Namespace() as owner] if self.facts.is_only_read(self.module, node):
                return dict(vars(owner))
            case "isinstance", [value, kind] if kind in (int, float, str, bool, list, tuple, dict):
                if isinstance(value, (*values.PLAIN, list, tuple, dict)):
                    return isinstance(value, kind)
        return UNKNOWN

    def instance(self, node: ast.Call, variable: Variable, positional: list[Any], named: dict[str, Any]) -> Any:
        """An instance of a frozen dataclass of the recipe."""
        definition = self.facts.bindings.definition(variable)
        home = self.facts.program.modules[variable.module]
        outer = self.facts.evaluator(home, self.context)
        unknown = UnknownValueError(node, f"an instance of `{variable.name}` is not evaluated")
        if (
            not isinstance(definition, ast.ClassDef)
            or not _is_frozen(definition, outer)
            or not self.facts.instances_stay
        ):
            raise unknown
        fields: dict[str, Any] = {}
        check: ast.FunctionDef | None = None
        for statement in definition.body:
            match statement:
                case ast.AnnAssign(target=ast.Name(id=field_name), annotation=annotation, value=value):
                    if any(word in ast.unparse(annotation) for word in ("ClassVar", "InitVar", "KW_ONLY")):
                        raise unknown
                    if positional:
                        fields[field_name] = positional.pop(0)
                    elif field_name in named:
                        fields[field_name] = named.pop(field_name)
                    elif value is not None and outer.is_fixed(value):
                        fields[field_name] = outer.evaluate(value)
                    else:
                        raise unknown
                    if not (values.is_constant(fields[field_name]) or isinstance(fields[field_name], Instance)):
                        raise unknown
                case ast.FunctionDef(name="__post_init__"):
                    check = statement
                case ast.FunctionDef(name=name) if name.startswith("__"):
                    raise unknown
                case ast.FunctionDef() | ast.Expr(value=ast.Constant()):
                    pass
                case _:
                    raise unknown
        if positional or named:
            raise unknown
        made = Instance(variable, definition, fields)
        if check is not None:
            self.facts.invoke(Function(outer, check), self.context, [made], {})
        return made

    # Parsers

    def make_parser(self, node: ast.Call) -> Any:
        """`argparse.ArgumentParser(...)`, without its texts."""
        if len(node.args) > len(arguments.TEXTS) or any(isinstance(one, ast.Starred) for one in node.args):
            raise UnknownValueError(node, "a parser with such positional arguments is not evaluated")
        named = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise UnknownValueError(node, "a parser with unpacked arguments is not evaluated")
            if keyword.arg not in arguments.FOR_PEOPLE:
                named[keyword.arg] = self.evaluate(keyword.value)
        return self._compute(node, arguments.make, named)

    def add_to_parser(self, node: ast.Call, owner: argparse._ActionsContainer) -> Any:
        """`parser.add_argument(...)`: its value is None to all that follows."""
        if not self.context.owns(owner):
            raise UnknownValueError(node, "this changes a value that others see")
        self.context.change(owner)
        assert isinstance(node.func, ast.Attribute)
        if node.func.attr == "add_argument_group":
            return self._compute(node, owner.add_argument_group)
        before = dict(self.context.used)
        self.context.used.clear()
        words = self._items(node.args)
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                named.update(self.evaluate(keyword.value))
            elif keyword.arg not in arguments.FOR_PEOPLE:
                named[keyword.arg] = self.evaluate(keyword.value)
        knobs = tuple(self.context.used)
        self.context.used = {**before, **self.context.used}
        kind = named.get("type")
        if isinstance(kind, Function):
            named["type"] = arguments.converter(kind, RaisedError)
        elif kind is not None and kind not in (int, float, str, bool):
            raise UnknownValueError(node, "an option of this type is not evaluated")
        if isinstance(named.get("action"), type) and named["action"] is not argparse.BooleanOptionalAction:
            raise UnknownValueError(node, "an option with an action of its own is not evaluated")
        action = self._compute(node, owner.add_argument, *words, **named)
        name = arguments._name(action)
        self.facts.option_places[name] = self.facts.place(self.module, node)
        self.facts.option_uses[name] = knobs
        return None

    def command_line(
        self, node: ast.Call, function: Callable[..., Any], positional: list[Any], named: dict[str, Any]
    ) -> Any:
        """`parse_args` and the like."""
        name = function.__name__
        if name not in ("parse_args", "parse_known_args"):
            return self._compute(node, function, *positional, **named)
        words = positional[0] if positional else named.pop("args", None)
        if len(positional) > 1 or named:
            raise UnknownValueError(node, "parsing into a namespace that is there is not evaluated")
        self.context.use("sys.argv")
        parser = function.__self__  # type: ignore[attr-defined]
        given = self.facts.environment.arguments if words is None else words
        try:
            result, options = arguments.parse(parser, given, name == "parse_known_args")
        except arguments.CommandLineError as error:
            raise RaisedError(node, "SystemExit", f"the program's own parser says: {error}", SystemExit) from error
        for option in options:
            self.facts.options[option.name] = option
        if name == "parse_known_args":
            result = (self.context.own(result[0]), self.context.own(result[1]))
        return self.context.own(result)


class Flow(Code):
    """Follows the straight code of a module or function: what it can evaluate it does, the rest it forgets."""

    def __init__(self, facts: Facts, module: Module, scope: Scope) -> None:
        super().__init__(facts, module, {}, Run(), scope)
        self.scope: Scope = scope
        self.done = False
        self.knobs: dict[str, tuple[str, ...]] = {}
        self.deciding: list[str] = []  # knobs that decided the branches around
        self.executed: dict[ast.AST, Constant] = {}  # target of an assignment -> value
        self.dead: set[ast.AST] = set()  # names in branches that are never taken
        self.stores: dict[int, list[ast.stmt]] = {}  # namespace -> statements that set its fields
        self.followed: set[ast.AST] = set()  # statements that were evaluated whole
        self.parsers: set[str] = set()  # variables that hold parsers of the command line
        self.records = True  # what is evaluated now is evaluated once
        self.shared = self._shared(facts)

    def _shared(self, facts: Facts) -> frozenset[str]:
        """Variables that functions inside bind too: at any time."""
        scope = self.scope
        if scope is self.module.scope:
            names = (name for name in scope.bound if facts.bindings.changes(Variable(self.module.name, name)))
            return frozenset(names)
        return frozenset(name for name in scope.bound if facts.is_bound_inside(scope, name))

    @functools.cached_property
    def mentioned(self) -> set[str]:
        """Names that stand in functions and classes inside."""
        inside = (node for child in self.scope.children for node in trees.nodes(child.node))
        return {node.id for node in inside if isinstance(node, ast.Name)}

    def scope_body(self) -> list[ast.stmt]:
        """The statements that are followed."""
        assert self.scope is not None
        body: list[ast.stmt] = self.scope.node.body  # type: ignore[attr-defined]  # a module or function
        return body

    def final(self, name: str) -> Constant:
        """The only value that a variable ever has here; UNKNOWN where it may have had another."""
        bound = [one for one in self.scope.bound.get(name, []) if one.node not in self.dead]
        executed = [self.executed[one.node] for one in bound if one.node in self.executed]
        if len(bound) != 1 or len(executed) != 1 or self.variables.get(name, UNKNOWN) is UNKNOWN:
            return UNKNOWN, ()
        return self.variables[name], self.knobs.get(name, ())

    def evaluate(self, node: ast.expr) -> Any:
        """Evaluate, and remember what reads in straight code give."""
        if not (self.records and isinstance(node, (ast.Call, ast.Subscript, ast.Compare))):
            return super().evaluate(node)
        outer, self.context.used = self.context.used, {}
        read, self.context.read = self.context.read, []
        made, changed = self.context.made, self.context.oldest_changed
        self.context.oldest_changed = math.inf
        try:
            value = super().evaluate(node)
            alone = self.context.oldest_changed >= made  # it changed nothing but what it made itself
            if self.context.read and alone:
                if not isinstance(value, values.MUTABLE) or isinstance(value, (list, dict)):
                    self.facts.moments[node] = (copy.deepcopy(value), tuple(self.context.used))
                variable = _variable_of(node, self.context.read)
                self.facts.note(variable, value, tuple(self.context.used), self.place(node))
        finally:
            self.context.used = {**outer, **self.context.used}
            self.context.read = [*read, *self.context.read]
            self.context.oldest_changed = min(changed, self.context.oldest_changed)
        return value

    def place(self, node: ast.AST) -> Place:
        """File and line of a node."""
        return self.facts.place(self.module, node)

    def nested(self) -> Evaluator:
        """What a comprehension evaluates is evaluated more than once."""
        inner = super().nested()
        assert isinstance(inner, Flow)
        inner.records = False
        return inner

    def _read_name(self, node: ast.Name) -> Any:
        if node.id in self.shared:
            raise UnknownValueError(node, f"`{node.id}` is bound by a function inside too")
        value = super()._read_name(node)
        if node.id in self.variables:
            self.context.use(*self.knobs.get(node.id, ()))
        return value

    def name(self, node: ast.Name) -> Any:
        """A parameter of the function that is followed has the value that every call gives it."""
        occurrence = self.module.by_node.get(node)
        if occurrence is not None and occurrence.home() is self.scope and self.scope is not self.module.scope:
            bound = self.scope.bound[occurrence.name]
            if len(bound) == 1 and bound[0].kind == "parameter":
                known = self.facts.local_constant(self.module, self.scope, occurrence.name)
                if known == (None, ()):
                    return None  # `argv=None` that no call gives anything
                return self.facts.local(self.module, occurrence, self.context)
        return super().name(node)

    def follow(self, body: list[ast.stmt]) -> bool:
        """Follow statements in order. False: nothing behind them is reached."""
        for position, statement in enumerate(body):
            if not self.straight(statement):
                for unreached in body[position + 1 :]:
                    self.bury(unreached)
                return False
        return True

    def bury(self, node: ast.AST) -> None:
        """Note that code is never reached."""
        self.dead.update(trees.nodes(node))

    def straight(self, node: ast.stmt) -> bool:
        """Follow one statement."""
        self.context.steps = 0
        self.context.used = dict.fromkeys(self.deciding)
        self.records = True
        match node:
            case ast.If():
                return self.decide(node)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    self.forget(item)
                return self.follow(node.body)
            case ast.FunctionDef() if self.scope is not self.module.scope:
                self.variables[node.name] = Function(self, node)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self.variables.pop(node.name, None)
                if self.scope is not self.module.scope:
                    self.variables[node.name] = UNKNOWN
            case ast.Import() | ast.ImportFrom():
                for alias in node.names:
                    self.variables.pop(alias.asname or alias.name.split(".")[0], None)
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                self.forget(node)
                return False
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Expr() | ast.Assert() | ast.For() | ast.While():
                self.attempt_statement(node)
            case ast.Try(body=[ast.Assign() | ast.AnnAssign()], orelse=[], finalbody=[]) if not any(
                handler.name for handler in node.handlers
            ):
                return self.attempt_assignment(node)
            case ast.Try():
                self.attempt_statement(node)
            case _:
                self.forget(node)
        return True

    def decide(self, node: ast.If) -> bool:
        """A branch: the one that is taken is straight code too."""
        if is_typing_block(node):
            return True
        try:
            taken = self.truth(node.test, self.evaluate(node.test))
        except (UnknownValueError, RaisedError):
            self.forget(node)
            return True
        knobs = tuple(self.context.used)
        self.facts.decisions[node.test] = (taken, knobs)
        for statement in node.orelse if taken else node.body:
            self.bury(statement)
        outer = self.deciding
        self.deciding = list(dict.fromkeys([*outer, *knobs]))
        try:
            return self.follow(node.body if taken else node.orelse)
        finally:
            self.deciding = outer

    def attempt_statement(self, node: ast.stmt) -> None:
        """Evaluate one statement, or forget what it touches."""
        if isinstance(node, ast.For) and not isinstance(node.iter, (ast.Tuple, ast.List, ast.Call, ast.Name)):
            self.forget(node)
            return
        if self.constant(node):
            return
        self.records = isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Assert))
        try:
            self.statement(node)
        except UnknownValueError as error:
            inside = list(trees.nodes(node))
            asks = any(isinstance(child, ast.Attribute) and child.attr.startswith("parse_") for child in inside)
            if not asks and any(isinstance(child, ast.Name) and child.id in self.parsers for child in inside):
                self.facts.troubles[node] = error
            self.forget(node)
            return
        except (RaisedError, values._LoopSignal) as error:
            if isinstance(error, RaisedError) and self.context.used:
                self.facts.rejected[node] = (self.module, error)
            self.forget(node)
            return
        self.note(node)

    def attempt_assignment(self, node: ast.Try) -> bool:
        """`try: X = int(os.environ["X"])` with handlers: what runs in the end is straight code, the rest is dead."""
        chosen = node.body
        try:
            self.statement(node.body[0])
        except UnknownValueError:
            self.forget(node)
            return True
        except RaisedError as error:
            try:
                handler = self.handler(node, error)
            except UnknownValueError:
                handler = None
            if handler is None:
                if self.context.used:
                    self.facts.rejected[node] = (self.module, error)
                self.forget(node)
                return True
            chosen = handler.body
        else:
            self.note(node.body[0])
        knobs = tuple(self.context.used)
        if knobs:
            self.facts.attempts[node] = chosen
        for block in (node.body, *(handler.body for handler in node.handlers)):
            if block is not chosen:
                for statement in block:
                    self.bury(statement)
        if chosen is node.body:
            return True
        outer = self.deciding
        self.deciding = list(dict.fromkeys([*outer, *knobs]))
        try:
            return self.follow(chosen)
        finally:
            self.deciding = outer

    def note(self, node: ast.stmt) -> None:
        """Remember what a statement that was evaluated whole has done."""
        self.followed.add(node)
        knobs = tuple(self.context.used)
        for child in trees.nodes(node):
            if isinstance(child, ast.Name):
                value = self.variables.get(child.id)
                if isinstance(value, argparse._ActionsContainer):
                    self.parsers.add(child.id)
                if isinstance(child.ctx, ast.Store):
                    self.knobs[child.id] = knobs
                    if not isinstance(node, ast.For):
                        self.executed[child] = (value, knobs)
                elif isinstance(value, values.MUTABLE):
                    self.knobs[child.id] = tuple(dict.fromkeys([*self.knobs.get(child.id, ()), *knobs]))
        self.note_options(node)

    def constant(self, node: ast.stmt) -> bool:
        """A module constant that the settings name has the value that they give it."""
        match node:
            case ast.Assign(targets=[ast.Name() as target]) | ast.AnnAssign(target=ast.Name() as target):
                given = self.facts.constants.get(Variable(self.module.name, target.id))
                if given is not None and self.scope is self.module.scope:
                    self.variables[target.id], self.knobs[target.id] = given
                    self.executed[target] = given
                    return True
        return False

    def note_options(self, node: ast.stmt) -> None:
        """Remember where options come from, and what sets their fields."""
        match node:
            case (
                ast.Assign(targets=[ast.Name() as target], value=value)
                | ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value)
            ):
                made = self.variables.get(target.id)
                if isinstance(made, argparse.Namespace) and id(made) not in self.facts.parsed:
                    knobs = tuple(self.context.used)
                    self.facts.parsed[id(made)] = Parsed(
                        self.module, value, self, target, copy.copy(vars(made)), made, knobs
                    )
            case ast.Assign(
                targets=[ast.Tuple(elts=[ast.Name() as target, ast.Name() as other])], value=ast.Call() as value
            ):
                made, rest = self.variables.get(target.id), self.variables.get(other.id)
                new = isinstance(made, argparse.Namespace) and id(made) not in self.facts.parsed
                if isinstance(made, argparse.Namespace) and new and isinstance(rest, list):
                    first, knobs = copy.copy(vars(made)), tuple(self.context.used)
                    self.facts.parsed[id(made)] = Parsed(
                        self.module, value, self, target, first, made, knobs, list(rest)
                    )
            case ast.Assign(targets=[ast.Attribute() as target]) | ast.AugAssign(target=ast.Attribute() as target):
                owner = self.evaluate(target.value)
                if isinstance(owner, argparse.Namespace):
                    self.stores.setdefault(id(owner), []).append(node)

    def forget(self, node: ast.AST) -> None:
        """Make unknown what code binds or may change."""
        calls = any(isinstance(child, ast.Call) for child in trees.nodes(node))
        touched: list[Any] = []
        for child in trees.nodes(node):
            if isinstance(child, ast.Name):
                if not isinstance(child.ctx, ast.Load):
                    self.variables[child.id] = UNKNOWN
                else:
                    touched.append(self.variables.get(child.id))
            elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                self.variables[child.name] = UNKNOWN
            elif isinstance(child, (ast.Import, ast.ImportFrom)):
                for alias in child.names:
                    self.variables[alias.asname or alias.name.split(".")[0]] = UNKNOWN
            elif isinstance(child, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and child.name:
                self.variables[child.name] = UNKNOWN
            elif isinstance(child, ast.MatchMapping) and child.rest:
                self.variables[child.rest] = UNKNOWN
        holders = {name: value for name, value in self.variables.items() if isinstance(value, HOLDERS)}
        if calls:
            shared = [name for name in holders if name in self.mentioned]
            if self.scope is self.module.scope:
                shared = [name for name in shared if not self.facts.stays_as_made(Variable(self.module.name, name))]
            touched += [holders[name] for name in shared]
        reached = {id(inner) for value in touched for inner in _reachable(value)}
        parsers = any(isinstance(value, argparse._ActionsContainer) for value in touched)
        for value in touched:
            if isinstance(value, argparse.Namespace):
                self.forget_options(node, value)
        for name, value in holders.items() if reached or parsers else ():
            if isinstance(value, argparse.Namespace):
                continue
            if any(id(inner) in reached for inner in _reachable(value)) or (
                parsers and isinstance(value, argparse._ActionsContainer)
            ):
                self.variables[name] = UNKNOWN

    def forget_options(self, node: ast.AST, namespace: argparse.Namespace) -> None:
        """Make unknown which options code may set: those that some statement sets by name, or all."""
        everything = any(
            (isinstance(child, ast.Name) and child.id in ("setattr", "delattr"))
            or (isinstance(child, ast.Attribute) and child.attr == "__dict__")
            or (
                isinstance(child, ast.Call)
                and isinstance(child.func, ast.Name)
                and child.func.id == "vars"
                and not self.facts.is_only_read(self.module, child)
            )
            for child in trees.nodes(node)
        )
        parsed = self.facts.parsed.get(id(namespace))
        everything = everything or (parsed is not None and parsed.call in self.facts.escaped)
        known = {child for store in self.stores.get(id(namespace), ()) for child in trees.nodes(store)} | self.dead
        for name in vars(namespace):
            if everything or any(target not in known for target in self.facts.stored.get(name, ())):
                setattr(namespace, name, UNKNOWN)


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


def _variable_of(node: ast.AST, reads: list[str]) -> str | None:
    """The one variable that a call is about: the only one that it reads, or the only one of them that it names."""
    names = list(dict.fromkeys(reads))
    if len(names) > 1 and isinstance(node, ast.Call):
        written = [one.value for one in node.args if isinstance(one, ast.Constant)]
        names = [name for name in names if name in written]
    return names[0] if len(names) == 1 else None


def argument_of(call: ast.Call, function: FunctionNode | ast.Lambda, name: str) -> ast.expr | None:
    """What a call without unpacked arguments writes for a parameter; None where it leaves it to the default."""
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if name in names and names.index(name) < len(call.args):
        return call.args[names.index(name)]
    return None


def default_of(function: FunctionNode | ast.Lambda, name: str) -> ast.expr | None:
    """The default of a parameter."""
    positional = [*function.args.posonlyargs, *function.args.args]
    for one, default in zip(reversed(positional), reversed(function.args.defaults), strict=False):
        if one.arg == name:
            return default
    for one, written in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        if one.arg == name:
            return written
    return None


def _same(one: Any, other: Any) -> bool:
    """Whether two values cannot be told apart."""
    if isinstance(one, argparse.Namespace) or isinstance(other, argparse.Namespace):
        return one is other
    return type(one) is type(other) and repr(one) == repr(other) and not isinstance(one, (Function, Instance))


def _reachable(value: Any) -> list[Any]:
    """The mutable objects in a value."""
    if isinstance(value, dict):
        return [value, *(inner for item in value.values() for inner in _reachable(item))]
    if isinstance(value, (list, tuple, set)):
        own = [] if isinstance(value, tuple) else [value]
        return [*own, *(inner for item in value for inner in _reachable(item))]
    return [value] if isinstance(value, values.MUTABLE) else []


def _is_frozen(node: ast.ClassDef, outer: Code) -> bool:
    match node.decorator_list:
        case [ast.Call(func=func, args=[], keywords=keywords)] if not node.bases and not node.keywords:
            frozen = any(
                keyword.arg == "frozen" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
                for keyword in keywords
            )
            return outer.path(func) == "dataclasses.dataclass" and frozen
    return False


def _undecorated(node: ast.FunctionDef, module: Module) -> ast.FunctionDef:
    """The same function without its decorators, in the same scope."""
    plain = copy.copy(node)
    plain.decorator_list = []
    module.scope.scopes[plain] = module.scope.scopes[node]
    return plain

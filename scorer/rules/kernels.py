"""What leads to the launch of a kernel: functions, classes, attributes, variables, containers, parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import TypeVar

from scorer.rules.scopes import Binding, Key, Scopes, scopes
from scorer.rules.source import Function, Source

# Ends of full names, whatever package offers them: neuronxcc.nki.jit is nki.jit too.
JIT = ("nki.jit", "nki_jit")
WRAPPERS = (*JIT, "nki.simulate", "wrap_nki", "nki_op")
LIBRARIES = ("nkilib.", "nki.kernels.", "neuronxcc.nki.kernels.", "neuronxcc.private_nkl.")  # kernels that come ready
PACKAGES = {"nki", "nkilib", "neuronxcc", "torch_neuronx"}  # without one of them a file has no kernel
CALLS_ITSELF = {"apply", "forward", "__call__", "result"}  # `Function.apply(x)` runs Function
HANDS_ON = {"get", "pop", "values", "items", "copy", "setdefault", "__getitem__"}  # of a container
SPEAKS = {"builtins.print", "builtins.isinstance", "builtins.len", "builtins.repr", "builtins.str", "builtins.id"}
K = TypeVar("K")
NO, PASSED, SURE = 0, 1, 2  # PASSED: where a kernel is given as an argument


class Kernels:
    """Which expressions of a file lead to the launch of a kernel."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._scopes: Scopes = scopes(source)
        self.jitted: set[ast.AST] = {
            function
            for function in source.functions
            for decorator in function.decorator_list
            if _ends_with(source.resolve(decorator.func if isinstance(decorator, ast.Call) else decorator), JIT)
        }
        self.inside_kernels = {id(n) for function in self.jitted for n in self._source.walk(function)}
        self._level: dict[Key, int] = {}  # variables, functions and classes by scope
        self._members: dict[str, int] = {}  # `self.NAME`
        self._makes: dict[int, int] = {}  # functions that return something that leads to a kernel
        # Looked at since the last round of growth, by id; with the node, so that no other can have the id.
        self._carried: dict[int, tuple[ast.AST, int]] = {}
        self._run: dict[int, tuple[ast.Call, int]] = {}
        self._callees: dict[int, list[ast.Call]] = {}
        self._results: dict[int, list[ast.expr]] = {}  # of each function, by id
        self._called: dict[Key, bool] = {}  # parameters: whether their function calls them or hands them on
        self._decorations = [  # (function, its decorator or what makes it, whether the latter)
            (function, own, isinstance(decorator, ast.Call))
            for function in source.functions
            for decorator in function.decorator_list
            if (own := self._scopes.function(decorator.func if isinstance(decorator, ast.Call) else decorator))
        ]
        if any(full.partition(".")[0] in PACKAGES for full in source.imported):
            self._grow()

    @property
    def exist(self) -> bool:
        """Whether the file has kernels at all."""
        return bool(self._level or self._members)

    def launched(self, nodes: Iterable[ast.AST]) -> str | None:
        """The first call among these nodes that leads to a kernel, as it is written; None: there is none."""
        for top in nodes:
            for call in self._calls(top):
                if self._launches(call):
                    return ast.unparse(call.func)
        return None

    def launched_now(self, nodes: Iterable[ast.AST]) -> str | None:
        """The same, of the calls that run with these nodes: not in functions that they only define or wrap."""
        for top in nodes:
            for call in self._calls(top):
                wraps = _ends_with(self._source.resolve(call.func), WRAPPERS)
                if not wraps and self._launches(call) and not self._only_defined(call, top):
                    return ast.unparse(call.func)
        return None

    def _only_defined(self, call: ast.Call, top: ast.AST) -> bool:
        """Whether a call stands in a function that is defined at or below `top`."""
        around: ast.AST | None = call
        while around is not None:
            if isinstance(around, Function):
                return True
            if around is top:
                return False
            around = self._source.parent(around)
        return False

    def carried(self, node: ast.AST) -> bool:
        """Whether an expression's value leads to a kernel when it is called."""
        return self._carries(node) > NO

    def definition(self, callee: ast.AST) -> Function | None:
        """The jitted function that a callee launches, through `wrap_nki` and the like."""
        return self._definition(callee, set())

    def _definition(self, callee: ast.AST, seen: set[ast.AST]) -> Function | None:
        """`seen` are expressions on the way here: `device = torch.device(device)` leads back to itself."""
        seen.add(callee)
        while isinstance(callee, (ast.Subscript, ast.Call)):
            if isinstance(callee, ast.Call):
                if not callee.args:
                    return None
                callee = callee.args[0]
            else:
                callee = callee.value
        if isinstance(callee, ast.Name):
            for binding in self._scopes.of(callee.id, callee):
                if isinstance(binding.node, Function):
                    return binding.node if binding.node in self.jitted else None
                if binding.value is not None and binding.whole and binding.value not in seen:
                    return self._definition(binding.value, seen)
        return None

    def is_kernel(self, callee: ast.AST) -> bool:
        """Whether a callee is a jitted function itself, and not what calls one."""
        return self.definition(callee) is not None

    def used(self, nodes: Iterable[ast.AST]) -> str | None:
        """The first kernel that these nodes launch, return, or store in a variable; None: there is none."""
        nodes = list(nodes)
        call = self.launched(nodes)
        if call:
            return call
        for top in nodes:
            if isinstance(top, Function) and top in self.jitted:
                return top.name
            values: list[ast.AST] = [top] if isinstance(top, ast.expr) else []
            given = self._source.inside(top, ast.Assign, ast.AnnAssign, ast.Return, ast.Yield)
            values.extend(node.value for node in given if node.value is not None)
            for value in values:
                if not isinstance(value, ast.Constant) and self.carried(value):
                    return ast.unparse(value)
        return None

    def _calls(self, top: ast.AST) -> list[ast.Call]:
        if id(top) not in self._callees:
            found = [n for n in self._source.inside(top, ast.Call) if id(n) not in self.inside_kernels]
            self._callees[id(top)] = found
        return self._callees[id(top)]

    def _launches(self, call: ast.Call) -> int:
        """How surely a call runs a kernel, now or when its result is called."""
        known = self._run.get(id(call))
        if known is None:
            known = self._run[id(call)] = call, self._runs(call)
        return known[1]

    def _runs(self, call: ast.Call) -> int:
        callee = call.func
        if isinstance(callee, (ast.Call, ast.Subscript)):  # wrap_nki(kernel)[lnc](...)
            inner = self._carries(callee)
            if inner:
                return inner
        full = self._source.resolve(callee)
        if _ends_with(full, WRAPPERS):
            return SURE
        own = self._scopes.function(callee)
        level = self._carries(callee)
        if own is not None and level == PASSED:
            return self._passed(call)  # a helper that calls what it is given
        if level:
            return level
        if own is None and full is not None and full not in SPEAKS and not full.startswith("builtins."):
            return self._passed(call)
        return NO

    def _passed(self, call: ast.Call) -> int:
        """How surely one of a call's arguments leads to a kernel."""
        arguments = [*call.args, *(k.value for k in call.keywords)]
        return max((self._carries(a) for a in arguments if not isinstance(a, ast.Constant)), default=NO)

    def _carries(self, node: ast.AST) -> int:
        known = self._carried.get(id(node))
        if known is None:
            known = self._carried[id(node)] = node, self._of_expression(node)
        return known[1]

    def _of_expression(self, node: ast.AST) -> int:
        if isinstance(node, ast.Name):
            return self._of_name(node)
        if isinstance(node, ast.Attribute):
            return self._of_attribute(node)
        if isinstance(node, ast.Call):
            return self._of_call(node)
        if isinstance(node, (ast.Subscript, ast.Starred, ast.Await, ast.NamedExpr)):
            return self._carries(node.value)
        if isinstance(node, ast.Lambda):
            level = max((self._launches(call) for call in self._calls(node.body)), default=NO)
            return level or self._carries(node.body)
        parts: list[ast.AST] = []
        if isinstance(node, ast.IfExp):
            parts = [node.body, node.orelse]
        elif isinstance(node, ast.BoolOp):
            parts = [*node.values]
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            parts = [*node.elts]
        elif isinstance(node, ast.Dict):
            parts = [*node.values]
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
            parts = [node.elt]
        elif isinstance(node, ast.DictComp):
            parts = [node.value]
        return max(map(self._carries, parts), default=NO)

    def _of_name(self, node: ast.Name) -> int:
        key = self._scopes.key(node.id, node)
        if key in self._level:
            return self._level[key]
        around = self._source.scopes.scopes.get(id(node))
        if around is not None and isinstance(around.node, ast.ClassDef) and node.id in around.bindings:
            return self._members.get(node.id, NO)  # fast = partialmethod(_norm, True)
        return SURE if _ready(self._source.resolve(node)) else NO

    def _of_attribute(self, node: ast.Attribute) -> int:
        value = node.value
        full = self._source.resolve(node)
        if full is not None and (_ready(full) or _ends_with(full, WRAPPERS)):
            return SURE
        if node.attr in CALLS_ITSELF:
            return self._carries(value)
        if self._is_own(value):
            return self._members.get(node.attr, NO)
        return NO

    def _is_own(self, node: ast.AST) -> bool:
        """Whether an object is one of the file's own: `self`, a chain from it, an own class or an instance of one."""
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            return self._is_own(node.value)
        if isinstance(node, ast.Call):
            return self._of_call(node) > NO
        if not isinstance(node, ast.Name):
            return False
        if node.id in {"self", "cls", "ctx"} or self._scopes.class_of(node) is not None:
            return True
        key = self._scopes.key(node.id, node)
        return key in self._level and not isinstance(self._scopes.bindings[key][0].node, Function)

    def _of_call(self, node: ast.Call) -> int:
        """What a call's result leads to."""
        callee = node.func
        full = self._source.resolve(callee)
        if _ends_with(full, WRAPPERS):
            return SURE
        if isinstance(callee, ast.Attribute) and callee.attr in HANDS_ON:
            return max(self._carries(callee.value), self._passed(node))
        own = self._scopes.function(callee)
        if own is not None:
            made = self._makes.get(id(own), NO)
            return self._passed(node) if made == PASSED else made
        names = self._source.exact(node.args[1]) if full == "builtins.getattr" and len(node.args) >= 2 else None
        if names is not None:
            named = [self._members.get(name, NO) for name in names] if self._is_own(node.args[0]) else []
            return max([NO, *named, *map(self._carries, node.args[2:])])
        if isinstance(callee, ast.Name):
            bound = self._scopes.of(callee.id, callee)
            if any(isinstance(b.node, ast.ClassDef) for b in bound):
                return max(self._of_name(callee), self._passed(node))
        if full is not None and full not in SPEAKS:
            return self._passed(node)  # functools.partial(kernel), torch.compile(model), next(iter(kernels))
        if isinstance(callee, ast.Attribute) and callee.attr in {"submit", "to", "train", "eval"}:
            return max(self._passed(node), self._carries(callee.value))
        return NO

    # --- growth ---

    def _grow(self) -> None:
        """Add what calls a kernel, what calls that, and so on, until nothing is left to add."""
        table = self._scopes
        for function in self.jitted:
            if isinstance(function, Function):
                self._enter(function, SURE)
        definitions = [
            node
            for node in self._source.every(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
            if node not in self.jitted and id(node) not in self.inside_kernels
        ]
        variables = [
            (key, binding)
            for key, bindings in table.bindings.items()
            for binding in bindings
            if binding.value is not None and not isinstance(binding.node, (Function, ast.ClassDef))
        ]
        attributes = [(name, b) for name, m in table.members.items() for b in m.values if b.value is not None]
        changed = True
        while changed:
            self._carried.clear()  # within a round an older answer only puts a change off until the next
            self._run.clear()
            before = sum(self._level.values()) + sum(self._members.values()) + sum(self._makes.values())
            for key, binding in variables:
                if self._level.get(key) != SURE:
                    self._raise(self._level, key, self._bound(binding))
            for name, binding in attributes:
                if self._members.get(name) != SURE:
                    self._raise(self._members, name, self._held(binding))
            self._give_arguments()
            for node in definitions:
                self._define(node)
            after = sum(self._level.values()) + sum(self._members.values()) + sum(self._makes.values())
            changed = after != before

    def _define(self, node: ast.AST) -> None:
        if isinstance(node, Function):
            for value in self._returned(node):
                self._raise(self._makes, id(node), self._carries(value))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name not in CALLS_ITSELF:
            level = max(
                (self._launches(call) for statement in node.body for call in self._calls(statement)), default=NO
            )
            self._enter(node, level)

    def _returned(self, function: Function) -> list[ast.expr]:
        """What a function returns or yields."""
        if id(function) not in self._results:
            inside = self._source.inside(function, ast.Return, ast.Yield)
            self._results[id(function)] = [n.value for n in inside if n.value is not None]
        return self._results[id(function)]

    def _enter(self, node: ast.AST, level: int) -> None:
        """Note how surely a function or class leads to a kernel, under its name."""
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return
        if isinstance(self._source.parent(node), ast.ClassDef):
            self._raise(self._members, node.name, level)
            return
        key = self._scopes.key(node.name, node)
        if key is not None:
            self._raise(self._level, key, level)

    def _bound(self, binding: Binding) -> int:
        """What a variable leads to: things to call, not what a kernel has returned."""
        value = binding.value
        return self._carries(value) if value is not None else NO

    def _held(self, binding: Binding) -> int:
        """What an attribute leads to; `self.norm = NkiRMSNorm(...)` holds an instance of a class."""
        value = binding.value
        if value is None:
            return NO
        return max(self._carries(value), SURE if self.launched([value]) else NO)

    def _give_arguments(self) -> None:
        """Parameters that are given a kernel somewhere, in functions that call them or hand them on."""
        for function in self._source.functions:
            if function in self.jitted or id(function) in self.inside_kernels:
                continue
            arguments = function.args
            every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            for argument in every:
                key = (id(function), argument.arg)
                if key not in self._level and self._called_within(function, argument.arg):
                    given = any(map(self._carries, self._scopes.arguments(function, argument.arg)))
                    self._raise(self._level, key, PASSED if given or self._decorates_kernel(function) else NO)
            if arguments.vararg is not None:
                packed = [a for call in self._scopes.calls.get(function.name, ()) for a in call.args]
                key = (id(function), arguments.vararg.arg)
                self._raise(self._level, key, PASSED if any(map(self._carries, packed)) else NO)

    def _decorates_kernel(self, function: Function) -> bool:
        """Whether a function is a decorator, or what a decorator factory returns, of what leads to a kernel."""
        factory = self._scopes.owner(function).node
        return any(
            made_by is (factory if called else function) and self._leads(d) for d, made_by, called in self._decorations
        )

    def _leads(self, function: Function) -> bool:
        if isinstance(self._source.parent(function), ast.ClassDef):
            return self._members.get(function.name, NO) > NO
        key = self._scopes.key(function.name, function)
        return key is not None and self._level.get(key, NO) > NO

    def _called_within(self, function: Function, name: str) -> bool:
        """Whether a parameter is called, or given to something else, inside of its function."""
        key = (id(function), name)
        if key not in self._called:
            self._called[key] = any(
                isinstance(node, ast.Name) and node.id == name
                for call in self._calls(function)
                for node in (call.func, *call.args, getattr(call.func, "value", call.func))
            )
        return self._called[key]

    @staticmethod
    def _raise(table: dict[K, int], key: K, level: int) -> None:
        if level > table.get(key, NO):
            table[key] = level


@cache
def _ends_with(full_name: str | None, ends: tuple[str, ...]) -> bool:
    return full_name is not None and any(f".{full_name}".endswith(f".{end}") for end in ends)


def _ready(full_name: str | None) -> bool:
    """Whether an import is a kernel that a library offers."""
    return full_name is not None and full_name.startswith(LIBRARIES)


@lru_cache(maxsize=1)
def kernels(source: Source) -> Kernels:
    """One analysis for all the checks of one file."""
    return Kernels(source)

"""Whether running a top-level statement does anything but bind its names. When in doubt it does, and the statement is
kept.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from builder import trees
from builder.bindings import Bindings, Variable
from builder.rewrite import Rewrite
from builder.scan import Module
from builder.source import all_statements
from builder.trees import root_of

# Calls and decorators without effects beyond their result, by dotted name (builtins by their own).
PURE_CALLS = frozenset(
    {
        "abc.abstractmethod",
        "abs",
        "bool",
        "bytes",
        "classmethod",
        "collections.Counter",
        "collections.OrderedDict",
        "collections.defaultdict",
        "collections.deque",
        "collections.namedtuple",
        "complex",
        "contextlib.asynccontextmanager",
        "contextlib.contextmanager",
        "contextvars.ContextVar",
        "dataclasses.dataclass",
        "dataclasses.field",
        "dict",
        "divmod",
        "enum.auto",
        "enum.unique",
        "enumerate",
        "float",
        "fractions.Fraction",
        "frozenset",
        "functools.cache",
        "functools.cached_property",
        "functools.lru_cache",
        "functools.partial",
        "functools.singledispatch",
        "functools.total_ordering",
        "functools.wraps",
        "int",
        "itertools.count",
        "len",
        "list",
        "logging.getLogger",
        "max",
        "min",
        "nki.jit",
        "object",
        "operator.attrgetter",
        "operator.itemgetter",
        "pathlib.Path",
        "pathlib.PurePath",
        "pathlib.PurePosixPath",
        "pow",
        "property",
        "range",
        "re.compile",
        "repr",
        "reversed",
        "round",
        "set",
        "slice",
        "sorted",
        "staticmethod",
        "str",
        "string.Template",
        "sum",
        "super",
        "torch.autograd.function.once_differentiable",
        "torch.compile",
        "torch.compiler.disable",
        "torch.device",
        "torch.enable_grad",
        "torch.inference_mode",
        "torch.jit.ignore",
        "torch.no_grad",
        "tuple",
        "type",
        "types.MappingProxyType",
        "types.SimpleNamespace",
        "typing.NamedTuple",
        "typing.NewType",
        "typing.ParamSpec",
        "typing.TypeVar",
        "typing.TypeVarTuple",
        "typing.TypedDict",
        "typing.cast",
        "typing.final",
        "typing.overload",
        "typing.override",
        "typing.runtime_checkable",
        "zip",
    }
)
PURE_MODULES = ("math.",)
# Of these, calls that look into what they are given (walk through it, compare, convert): harmless with plain values
# only, since an iterator is used up by it and an object may answer with code of its own.
LOOKING = frozenset(
    [f"collections.{name}" for name in ("Counter", "OrderedDict", "defaultdict", "deque", "namedtuple")]
    + ["abs", "bool", "bytes", "complex", "dict", "divmod", "enumerate", "float", "fractions.Fraction", "frozenset"]
    + ["int", "len", "list", "max", "min", "pow", "repr", "reversed", "round", "set", "sorted", "str", "sum", "tuple"]
    + ["zip"]
)
# Of these, calls that give what can be changed later.
MUTABLE = frozenset(
    [f"collections.{name}" for name in ("Counter", "OrderedDict", "defaultdict", "deque")]
    + [
        "bytearray",
        "contextvars.ContextVar",
        "dict",
        "functools.singledispatch",
        "list",
        "set",
        "types.SimpleNamespace",
    ]
)
# Of these, calls that give an iterator, which is used up by whoever walks through it first.
ITERATORS = frozenset({"enumerate", "itertools.count", "reversed", "zip"})
# Methods that run when an object is made or its class is.
CODE = frozenset(
    {"__init__", "__new__", "__post_init__", "__del__", "__set_name__", "__init_subclass__", "__setattr__"}
)
ENUM_CODE = frozenset({"__init__", "__new__", "_generate_next_value_"})
ANSWERS = frozenset({"__getattr__", "__getattribute__"})
# Base classes whose subclassing registers nothing, by dotted name or prefix.
PURE_BASES = (
    "abc.",
    "collections.",
    "enum.",
    "typing.",
    "torch.nn.",
    "torch.autograd.",
    "torch.optim.",
    "torch.utils.data.",
    "string.",
    "threading.",
)
# Modules that do something when they are imported (register a device, a backend, an operator).
IMPORT_EFFECTS = frozenset({"torch_neuronx", "readline", "faulthandler"})


class Effects:
    """Answers for one program, remembering classes."""

    def __init__(
        self, bindings: Bindings, standard: frozenset[str], rewrites: dict[str, Rewrite] | None = None
    ) -> None:
        self.bindings = bindings
        self.rewrites = rewrites or {name: Rewrite() for name in bindings.modules}  # None: nothing is frozen yet
        self.standard = standard  # names of the standard library's modules
        self._plain: dict[Variable, bool] = {}
        self._enumerated: set[object] | None = None

    def statement(self, node: ast.stmt, module: Module) -> bool:
        """Whether a statement has effects beyond binding names."""
        frozen = self.rewrites[module.name].statements.get(node)
        if frozen is not None and frozen != [node]:
            return any(self.statement(inner, module) for inner in frozen)
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                inner = [*node.args.defaults, *node.args.kw_defaults]
                pure = all(self.pure(n, module) for n in inner if n) and self.pure_annotations(node, module)
                return not (pure and all(self.pure_decorator(d, module) for d in node.decorator_list))
            case ast.ClassDef():
                return not self.pure_class(node, module)
            case ast.Assign():
                unpacked = any(not isinstance(target, ast.Name) for target in node.targets)
                looks = unpacked and not self.plain_argument(node.value, module)
                return looks or not (all(map(_binds_names, node.targets)) and self.pure(node.value, module))
            case ast.AnnAssign():
                return not (
                    isinstance(node.target, ast.Name)
                    and (node.value is None or self.pure(node.value, module))
                    and self.pure_annotation(node.annotation, module)
                )
            case ast.Expr():
                return not self.pure(node.value, module)
            case ast.If():
                return not (
                    self.pure(node.test, module)
                    and not any(self.statement(n, module) for n in (*node.body, *node.orelse))
                )
            case ast.Import() | ast.ImportFrom() | ast.Pass():
                return False
            case _ if type(node).__name__ == "TypeAlias":
                return False
        return True

    def pure_decorator(self, node: ast.expr, module: Module) -> bool:
        """A decorator is a call, with or without parentheses: `@register` may enter the function somewhere.

        Of `@factory(...)` the factory is called, and what it gives; the table names factories that do nothing in both.
        """
        if isinstance(node, ast.Call):
            return self.pure(node, module)
        if isinstance(node, ast.Attribute) and node.attr in ("setter", "getter", "deleter"):
            return self.path(node, module) == "" and isinstance(node.value, ast.Name)  # of a property in this class
        return self.path(node, module) in PURE_CALLS

    def pure_annotations(self, node: ast.FunctionDef | ast.AsyncFunctionDef, module: Module) -> bool:
        """Whether none of a signature's annotations does anything."""
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
        annotations = [node.returns, *(argument.annotation for argument in arguments if argument)]
        return all(self.pure_annotation(annotation, module) for annotation in annotations if annotation)

    def pure_annotation(self, node: ast.expr, module: Module) -> bool:
        """An annotation has no effect unless it is evaluated and calls something."""
        return "annotations" in module.future or not any(
            isinstance(child, (ast.Call, ast.NamedExpr)) for child in trees.nodes(node)
        )

    def pure_class(self, node: ast.ClassDef, module: Module) -> bool:
        """Whether making a class does nothing but bind its name."""
        if not all(self.pure_decorator(decorator, module) for decorator in node.decorator_list):
            return False
        if any(
            keyword.arg != "metaclass" or self.path(keyword.value, module) != "abc.ABCMeta" for keyword in node.keywords
        ):
            return False
        if not all(self.pure_base(base, module) for base in node.bases):
            return False
        if _functions(node) & ENUM_CODE and any(self.is_enum(base, module) for base in node.bases):
            return False
        return not any(self.statement(child, module) for child in node.body)

    def pure_base(self, node: ast.expr, module: Module) -> bool:
        """Whether subclassing a class registers nothing."""
        if isinstance(node, ast.Subscript):  # Generic[T], Protocol[T]
            return self.pure_base(node.value, module) and self.pure(node.slice, module)
        meaning = self.meaning(node, module)
        if self.enumerated() & {meaning, self.path(node, module)}:
            return False  # `Base.__subclasses__()` gives it, though nothing names it
        if isinstance(meaning, Variable):
            if None in self.enumerated():
                return False
            definition = self.bindings.definition(meaning)
            home = self.bindings.modules[meaning.module]
            if definition is not None and home is module and definition.lineno >= node.lineno:
                return False  # `class list(list)`: what the name means before that statement has bound it
            if not isinstance(definition, ast.ClassDef) or definition.keywords:
                return False
            if "__init_subclass__" in _functions(definition):
                return False
            if _functions(definition) & ENUM_CODE and any(self.is_enum(base, home) for base in definition.bases):
                return False
            return all(self.pure_base(base, home) for base in definition.bases)
        path = self.path(node, module)
        return bool(path) and ("." not in path or path.startswith(PURE_BASES))

    def enumerated(self) -> set[object]:
        """The classes whose subclasses are asked for by `__subclasses__`: variables, or dotted names of classes from
        outside; None where it cannot be told which.
        """
        if self._enumerated is None:
            self._enumerated = set()
            for module in self.bindings.modules.values():
                if "__subclasses__" in module.source.text:
                    for node in module.every(ast.Attribute):
                        if node.attr == "__subclasses__":
                            meaning = self.meaning(node.value, module)
                            known = meaning if isinstance(meaning, Variable) else self.path(node.value, module)
                            self._enumerated.add(known or None)
        return self._enumerated

    def settled(self, variable: Variable) -> bool:
        """Whether a variable is the same at any time after its module has run, and what it is cannot change."""
        module = self.bindings.modules[variable.module]
        definition = self.bindings.definition(variable)
        if isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return True
        if isinstance(definition, (ast.Assign, ast.AnnAssign)) and definition.value:
            return self.immutable(definition.value, module)
        return False

    def immutable(self, node: ast.expr, module: Module) -> bool:
        """Whether a value is made of constants and immutable collections of them."""
        match node:
            case ast.Constant():
                return True
            case ast.Name() | ast.Attribute():
                meaning = self.meaning(node, module)
                return self.settled(meaning) if isinstance(meaning, Variable) else bool(self.path(node, module))
            case ast.Tuple() | ast.BinOp() | ast.UnaryOp() | ast.BoolOp() | ast.Compare() | ast.IfExp():
                return all(self.immutable(c, module) for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr))
            case ast.Call():
                called = self.path(node.func, module)
                return (called in PURE_CALLS or called.startswith(PURE_MODULES)) and called not in MUTABLE
        return False

    def is_enum(self, node: ast.expr, module: Module) -> bool:
        """Whether a class is an enumeration, whose members are made when the class is."""
        meaning = self.meaning(node, module)
        if isinstance(meaning, Variable):
            definition, home = self.bindings.definition(meaning), self.bindings.modules[meaning.module]
            if not isinstance(definition, ast.ClassDef) or (home is module and definition.lineno >= node.lineno):
                return False
            return any(self.is_enum(base, home) for base in definition.bases)
        return self.path(node, module).startswith("enum.")

    def meaning(self, node: ast.expr, module: Module) -> object:
        """What a name or attribute chain stands for, when all of its attributes belong to that."""
        occurrence = module.by_node.get(root_of(node))
        reference = self.bindings.of(module, occurrence) if occurrence else None
        if occurrence is None or reference is None or reference.attributes != len(occurrence.attributes):
            return None
        return reference.meaning

    def path(self, node: ast.expr, module: Module) -> str:
        """The dotted name of something from outside or of a builtin; "" for anything else."""
        occurrence = module.by_node.get(root_of(node))
        if occurrence is None:
            return ""
        if not occurrence.attributes and self.bindings.is_builtin(module, occurrence):
            return occurrence.name
        return self.bindings.outside_path(module, occurrence)

    def pure(self, node: ast.expr, module: Module) -> bool:
        """Whether evaluating an expression at import time has no effect (failing aside: it did not fail before)."""
        frozen = self.rewrites[module.name].expressions
        while node in frozen:
            node = frozen[node]
        match node:
            case ast.Constant() | ast.Name():
                return True
            case ast.Lambda():
                defaults = (*node.args.defaults, *node.args.kw_defaults)
                return all(self.pure(default, module) for default in defaults if default)
            case ast.Attribute():
                return self.pure_attribute(node, module)
            case ast.Call():
                return self.pure_call(node, module)
            case ast.NamedExpr() | ast.Await() | ast.Yield() | ast.YieldFrom():
                return False
            case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.Subscript() | ast.FormattedValue():
                operands = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
                if not all(self.plain(operand, module) for operand in operands):
                    return False
            case ast.Starred():
                if not self.plain_argument(node.value, module):
                    return False
        children = [child for child in ast.iter_child_nodes(node) if isinstance(child, (ast.expr, ast.comprehension))]
        for child in children:
            inner = [child] if isinstance(child, ast.expr) else [child.iter, *child.ifs]
            if isinstance(child, ast.comprehension) and not self.plain_argument(child.iter, module):
                return False
            if not all(self.pure(n, module) for n in inner):
                return False
        return True

    def pure_attribute(self, node: ast.Attribute, module: Module) -> bool:
        """Whether reading an attribute runs nothing: of a module, a class, a plain value, or a field of an object."""
        if not isinstance(root_of(node), ast.Name):
            return self.plain(node.value, module) and self.pure(node.value, module)
        if self.meaning(node, module) is not None or self.plain(node.value, module):
            return True
        value = self.value(node.value, module)
        if value is None:
            return False
        made, home = value
        class_ = self.meaning(made.func, home) if isinstance(made, ast.Call) else None
        definition = self.bindings.definition(class_) if isinstance(class_, Variable) else None
        if not isinstance(definition, ast.ClassDef) or definition.bases or definition.keywords:
            return False
        return not _functions(definition) & (ANSWERS | {node.attr})

    def pure_call(self, node: ast.Call, module: Module) -> bool:
        """Whether a call has no effect beyond its result."""
        called = self.path(node.func, module)
        inner = [*node.args, *(keyword.value for keyword in node.keywords)]
        if not all(self.pure(argument, module) for argument in inner):
            return False
        if called in LOOKING:
            keys = [keyword.value for keyword in node.keywords if keyword.arg == "key"]
            rest = [argument for argument in inner if argument not in keys]
            return all(self.plain_argument(argument, module) for argument in rest) and all(
                self.path(key, module) in PURE_CALLS or (isinstance(key, ast.Lambda) and self.pure(key.body, module))
                for key in keys
            )
        known = called in PURE_CALLS or called.startswith(PURE_MODULES)
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Constant):  # "".join(...)
            return all(self.plain_argument(argument, module) for argument in inner)
        return known or self.is_pure_class(node.func, module)

    def plain(self, node: ast.expr, module: Module) -> bool:
        """Whether a value is a builtin one, a function, a class, or something from outside: walking through it does not
        use it up, and its operators and attributes run no code of the recipe's.
        """
        match node:
            case ast.GeneratorExp() | ast.NamedExpr() | ast.Await() | ast.Yield() | ast.YieldFrom():
                return False
            case ast.Name():
                occurrence = module.by_node.get(node)
                reference = self.bindings.of(module, occurrence) if occurrence else None
                if reference is None or not isinstance(reference.meaning, Variable):
                    return occurrence is not None  # a comprehension's variable, a builtin, something from outside
                return self.plain_variable(reference.meaning)
            case ast.Attribute():
                meaning = self.meaning(node, module)
                return self.plain_variable(meaning) if isinstance(meaning, Variable) else self.plain(node.value, module)
            case ast.Subscript() | ast.Starred():
                return self.plain(node.value, module)
            case ast.Call():
                called = self.path(node.func, module)
                if called in PURE_CALLS or called.startswith(PURE_MODULES):
                    return called not in ITERATORS
                return isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Constant)
            case ast.BinOp() | ast.UnaryOp() | ast.BoolOp() | ast.Compare() | ast.IfExp():
                return all(self.plain(c, module) for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr))
        return True

    def plain_argument(self, node: ast.expr, module: Module) -> bool:
        """Whether a call may look into a value: a plain one, or an iterator made for this call alone."""
        if isinstance(node, ast.Starred):
            return self.plain_argument(node.value, module)
        if isinstance(node, ast.Call) and self.path(node.func, module) in ITERATORS:
            return all(self.plain_argument(argument, module) for argument in node.args)
        return isinstance(node, ast.GeneratorExp) or self.plain(node, module)

    def plain_variable(self, variable: Variable) -> bool:
        """Whether everything that a variable is bound to is plain."""
        if variable not in self._plain:
            self._plain[variable] = False  # while looking: what is made of itself
            self._plain[variable] = self._is_plain(variable)
        return self._plain[variable]

    def _is_plain(self, variable: Variable) -> bool:
        module = self.bindings.modules[variable.module]
        bound = module.scope.bound.get(variable.name, [])
        found = {target: value for part in {o.part for o in bound} for target, value in _values(module, part)}
        return bool(bound) and all(
            self.plain_definition(occurrence.node, module)
            if occurrence.kind == "definition"
            else occurrence.node in found and self.plain(found[occurrence.node], module)
            for occurrence in bound
        )

    def plain_definition(self, node: ast.AST, module: Module) -> bool:
        """Whether reading attributes and items of a function or class runs nothing: no metaclass, no descriptors."""
        if not isinstance(node, ast.ClassDef):
            return True
        made = (
            child.value
            for child in node.body
            if isinstance(child, (ast.Assign, ast.AnnAssign)) and isinstance(child.value, ast.Call)
        )
        own = not node.keywords and "__class_getitem__" not in _functions(node)
        return (
            own
            and all(self.path(call.func, module) in PURE_CALLS for call in made)
            and all(self.plain(base, module) for base in node.bases)
        )

    def value(self, node: ast.expr, module: Module) -> tuple[ast.expr, Module] | None:
        """The only value that a variable is bound to, and the module in which that is written."""
        meaning = self.meaning(node, module)
        definition = self.bindings.definition(meaning) if isinstance(meaning, Variable) else None
        if isinstance(meaning, Variable) and isinstance(definition, (ast.Assign, ast.AnnAssign)) and definition.value:
            return definition.value, self.bindings.modules[meaning.module]
        return None

    def is_pure_class(self, node: ast.expr, module: Module) -> bool:
        """A call of a dataclass or enumeration of the recipe without code of its own."""
        meaning = self.meaning(node, module)
        if not isinstance(meaning, Variable):
            return False
        definition = self.bindings.definition(meaning)
        if not isinstance(definition, ast.ClassDef) or definition.bases or definition.keywords:
            return False
        home = self.bindings.modules[meaning.module]
        dataclass = [self.path(d.func if isinstance(d, ast.Call) else d, home) for d in definition.decorator_list]
        if dataclass not in ([], ["dataclasses.dataclass"]) or _functions(definition) & CODE:
            return False
        factories = (
            keyword.value
            for child in definition.body
            if isinstance(child, ast.AnnAssign) and isinstance(child.value, ast.Call)
            for keyword in child.value.keywords
            if keyword.arg == "default_factory"
        )
        return all(self.path(factory, home) in PURE_CALLS for factory in factories)

    def import_has_effects(self, module: str) -> bool:
        """Whether importing a module from outside is known to do something."""
        return module.split(".")[0] in IMPORT_EFFECTS


def _binds_names(node: ast.expr) -> bool:
    if isinstance(node, (ast.Tuple, ast.List)):
        return all(map(_binds_names, node.elts))
    if isinstance(node, ast.Starred):
        return _binds_names(node.value)
    return isinstance(node, ast.Name)


def _functions(node: ast.ClassDef) -> set[str]:
    """The names of a class's functions."""
    return {child.name for child in node.body if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))}


def _values(module: Module, part: int) -> Iterator[tuple[ast.AST, ast.expr]]:
    """What is assigned to plain names in a part, outside of functions and classes."""
    for node in (module.parts[part].node, *all_statements(module.parts[part].node)):
        match node:
            case ast.Assign(targets=targets, value=value):
                yield from ((target, value) for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                yield target, value
            case ast.AugAssign(target=ast.Name() as target, value=value):
                yield target, value

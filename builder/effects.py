"""Whether running a top-level statement does anything but bind its names. When in doubt it does, and the statement is
kept.
"""

from __future__ import annotations

import ast

from builder.bindings import Bindings, Outside, Variable
from builder.scan import Module

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

    def __init__(self, bindings: Bindings, standard: frozenset[str]) -> None:
        self.bindings = bindings
        self.standard = standard  # names of the standard library's modules

    def statement(self, node: ast.stmt, module: Module) -> bool:
        """Whether a statement has effects beyond binding names."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                inner = [*node.args.defaults, *node.args.kw_defaults]
                pure = all(self.pure(n, module) for n in inner if n) and self.pure_annotations(node, module)
                return not (pure and all(self.pure_decorator(d, module) for d in node.decorator_list))
            case ast.ClassDef():
                return not self.pure_class(node, module)
            case ast.Assign():
                return not (all(map(_binds_names, node.targets)) and self.pure(node.value, module))
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
            isinstance(child, (ast.Call, ast.NamedExpr)) for child in ast.walk(node)
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
        return not any(self.statement(child, module) for child in node.body)

    def pure_base(self, node: ast.expr, module: Module) -> bool:
        """Whether subclassing a class registers nothing."""
        if isinstance(node, ast.Subscript):  # Generic[T], Protocol[T]
            return self.pure_base(node.value, module) and self.pure(node.slice, module)
        meaning = self.meaning(node, module)
        if isinstance(meaning, Variable):
            definition = self.bindings.definition(meaning)
            home = self.bindings.modules[meaning.module]
            if not isinstance(definition, ast.ClassDef) or definition.keywords:
                return False
            hooks = ("__init_subclass__", "__set_name__")
            if any(isinstance(child, ast.FunctionDef) and child.name in hooks for child in definition.body):
                return False
            return all(self.pure_base(base, home) for base in definition.bases)
        path = self.path(node, module)
        return bool(path) and ("." not in path or path.startswith(PURE_BASES))

    def meaning(self, node: ast.expr, module: Module) -> object:
        """What a name or attribute chain stands for, when all of its attributes belong to that."""
        occurrence = module.by_node.get(_root(node))
        reference = self.bindings.of(module, occurrence) if occurrence else None
        if occurrence is None or reference is None or reference.attributes != len(occurrence.attributes):
            return None
        return reference.meaning

    def path(self, node: ast.expr, module: Module) -> str:
        """The dotted name of something from outside or of a builtin; "" for anything else."""
        occurrence = module.by_node.get(_root(node))
        if occurrence is None:
            return ""
        attributes = [attribute.attr for attribute in occurrence.attributes]
        reference = self.bindings.of(module, occurrence)
        if reference is None:
            return occurrence.name if not attributes and self.bindings.is_builtin(module, occurrence) else ""
        if isinstance(reference.meaning, Outside):
            return ".".join([reference.meaning.path, *attributes[reference.attributes :]])
        return ""

    def pure(self, node: ast.expr, module: Module) -> bool:
        """Whether evaluating an expression at import time has no effect (failing aside: it did not fail before)."""
        match node:
            case ast.Constant() | ast.Name() | ast.Lambda():
                return True
            case ast.Attribute():
                return isinstance(_root(node), ast.Name) or self.pure(node.value, module)
            case ast.Call():
                called = self.path(node.func, module)
                known = called in PURE_CALLS or called.startswith(PURE_MODULES)
                inner = [*node.args, *(keyword.value for keyword in node.keywords)]
                known = known or (isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Constant))
                return (known or self.is_pure_class(node.func, module)) and all(self.pure(n, module) for n in inner)
            case ast.NamedExpr() | ast.Await() | ast.Yield() | ast.YieldFrom():
                return False
        children = [child for child in ast.iter_child_nodes(node) if isinstance(child, (ast.expr, ast.comprehension))]
        for child in children:
            inner = [child] if isinstance(child, ast.expr) else [child.iter, *child.ifs]
            if not all(self.pure(n, module) for n in inner):
                return False
        return True

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
        code = ("__init__", "__new__", "__post_init__")
        own = any(isinstance(child, ast.FunctionDef) and child.name in code for child in definition.body)
        return dataclass in ([], ["dataclasses.dataclass"]) and not own

    def import_has_effects(self, module: str) -> bool:
        """Whether importing a module from outside is known to do something."""
        return module.split(".")[0] in IMPORT_EFFECTS


def _root(node: ast.AST) -> ast.AST:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def _binds_names(node: ast.expr) -> bool:
    if isinstance(node, (ast.Tuple, ast.List)):
        return all(map(_binds_names, node.elts))
    if isinstance(node, ast.Starred):
        return _binds_names(node.value)
    return isinstance(node, ast.Name)

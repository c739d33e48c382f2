"""Annotations of dataclass fields that are strings in the recipe, written so that the class can be made in any file.

    from __future__ import annotations          class Node:                     # Node is not bound yet,
    @dataclass                                      width: int                  # so its field stays text
    class Node:                          ->         parent: "(Node | None)" = None
        width: int                                  count: ClassVar[int] = 0
        parent: Node | None = None
        count: ClassVar[int] = 0

For an annotation that is a string, `dataclasses` looks into `sys.modules[cls.__module__]` to see whether its first word
is ClassVar, InitVar or KW_ONLY; a file that is loaded by path need not be there. So a field's annotation becomes the
expression itself where it can be proven to evaluate: every name bound before the class statement runs, every operation
one that its operands have. Otherwise it stays a string, in parentheses, in which `dataclasses` looks for no word; what
it means to `typing.get_type_hints` does not change. Nothing else of the class differs, which is refused where kept code
could see it: types of fields read as values.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator

from builder import trees
from builder.bindings import Bindings, Outside, Variable
from builder.edits import Edit, Quote, quoted
from builder.errors import BuildError, Problem
from builder.link import Linker
from builder.rewrite import Rewrite
from builder.scan import InPackage, Module, Part
from builder.scopes import Occurrence
from builder.shake import Kept, Shaker
from builder.source import inner_statements
from builder.trees import root_of

DATACLASS = "dataclasses.dataclass"
SPECIAL = {
    "typing.ClassVar",
    "typing_extensions.ClassVar",
    "dataclasses.InitVar",
    "dataclasses.KW_ONLY",
}
SHOW_TYPES = ("inspect.get_annotations", "inspect.getdoc", "inspect.getfullargspec", "inspect.Signature", "help")
HINTS = ("typing.get_type_hints", "typing_extensions.get_type_hints")
FIRST_WORD = re.compile(r"(?:\s*(\w+)\s*\.)?\s*(\w+)")  # what dataclasses looks at
TYPING = ("typing.", "typing_extensions.", "collections.abc.")
# Classes outside, by module, that can be named by attribute and stand in a union. Any other may be no class, or not be
# there; a name that no program can be sure of stays a string, as it was.
CLASSES = {
    "argparse": ("Namespace",),
    "array": ("array",),
    "asyncio": ("AbstractEventLoop", "Event", "Future", "Lock", "Queue", "Task"),
    "collections": ("ChainMap", "Counter", "OrderedDict", "defaultdict", "deque"),
    "concurrent.futures": ("Executor", "Future"),
    "contextvars": ("ContextVar",),
    "datetime": ("date", "datetime", "time", "timedelta", "timezone"),
    "decimal": ("Decimal",),
    "enum": ("Enum", "Flag", "IntEnum"),
    "fractions": ("Fraction",),
    "functools": ("partial",),
    "io": ("BytesIO", "IOBase", "StringIO"),
    "logging": ("Logger",),
    "numpy": (
        "bool_",
        "dtype",
        "float16",
        "float32",
        "float64",
        "floating",
        "generic",
        "int16",
        "int32",
        "int64",
        "int8",
        "integer",
        "ndarray",
        "uint16",
        "uint32",
        "uint8",
    ),
    "numpy.random": ("Generator",),
    "os": ("PathLike",),
    "pathlib": ("Path", "PosixPath", "PurePath", "PurePosixPath"),
    "queue": ("Queue",),
    "random": ("Random",),
    "re": ("Match", "Pattern"),
    "string": ("Template",),
    "threading": ("Event", "Thread"),
    "torch": ("Generator", "Size", "Tensor", "device", "dtype"),
    "torch.nn": ("Embedding", "Linear", "Module", "ModuleDict", "ModuleList", "Parameter", "Sequential"),
    "torch.optim": ("Optimizer",),
    "torch.utils.data": ("DataLoader", "Dataset"),
    "types": ("FunctionType", "MappingProxyType", "ModuleType", "SimpleNamespace", "TracebackType"),
    "uuid": ("UUID",),
    "weakref": ("ref",),
}
# Those (and builtins) of them that can be subscripted with types.
SUBSCRIPTED = {
    "": ("dict", "frozenset", "list", "set", "tuple", "type"),
    "asyncio": ("Future", "Queue", "Task"),
    "collections": ("ChainMap", "Counter", "OrderedDict", "defaultdict", "deque"),
    "concurrent.futures": ("Future",),
    "contextvars": ("ContextVar",),
    "functools": ("partial",),
    "numpy": ("dtype", "ndarray"),
    "os": ("PathLike",),
    "queue": ("Queue",),
    "re": ("Match", "Pattern"),
    "types": ("MappingProxyType",),
    "weakref": ("ref",),
}


def write_fields(
    bindings: Bindings, linker: Linker, shaker: Shaker, kept: Kept, rewrites: dict[str, Rewrite]
) -> set[ast.expr]:
    """Write the string annotations of dataclass fields into the rewrites; returns them.

    For after the names are final. A BuildError where a field cannot be written, or its type could be seen.
    """
    return _Fields(bindings, linker, shaker, kept, rewrites).run()


class _Fields:
    def __init__(
        self, bindings: Bindings, linker: Linker, shaker: Shaker, kept: Kept, rewrites: dict[str, Rewrite]
    ) -> None:
        self.bindings = bindings
        self.linker = linker
        self.effects = shaker.effects
        self.kept = kept
        self.rewrites = rewrites
        self.late = shaker.late_imports(kept)
        self.order = {part: i for i, part in enumerate(kept.parts)}
        self.nodes: set[ast.expr] = set()
        self.text: dict[ast.ClassDef, str] = {}  # classes some annotation of which stays text, with its place
        self.problems: list[Problem] = []
        self.local_imports: dict[str, set[str]] = {}  # names that functions of a module import
        self.makers: set[Variable] = set()
        self.without_text = False  # whether a class has no docstring, so that dataclasses writes one
        self.parts: set[Part] = set()  # functions in which a class may be made a dataclass
        self.anything = False  # whether classes may be made dataclasses in a way that cannot be followed

    def run(self) -> set[ast.expr]:
        self.find_makers()
        for part in self.kept.parts:
            for node in self.classes(part):
                for annotated in self.annotated(part, node):
                    if self.is_string(part.module, annotated.annotation) and self.is_dataclass(part, node):
                        _Field(self, part, node, annotated).write()
                        self.without_text |= ast.get_docstring(node) is None
                    elif self.is_string(part.module, annotated.annotation):
                        self.stays_text(part.module, node, annotated)
        if self.nodes and not self.problems:
            self.check_observers()
        if self.text and not self.problems:
            self.check_hints()
        if self.problems:
            raise BuildError(self.problems)
        return self.nodes

    def stays_text(self, module: Module, owner: ast.ClassDef, annotated: ast.AnnAssign) -> None:
        """Note an annotation that is a string in the artifact, unless it names nothing but builtins."""
        text: ast.expr | None = annotated.annotation
        if isinstance(text, ast.Constant):
            text = _parsed(str(text.value))
        names = [node.id for node in ast.walk(text) if isinstance(node, ast.Name)] if text is not None else [""]
        if not all(hasattr(builtins, name) and self.bindings.variable(module, name) is None for name in names):
            line = module.source.line(module.source.start(annotated))
            self.text.setdefault(owner, f"`{owner.name}.{ast.unparse(annotated.target)}` ({module.source.name}:{line})")

    # Which classes are dataclasses

    def find_makers(self) -> None:
        """Variables that stand for `dataclass`, or for what it or a function around it gives."""
        self.local_imports = {
            module.name: {f.bound for f in module.imports if f.scope is not module.scope}
            for module in self.bindings.modules.values()
        }
        uses: dict[Part, list[Occurrence]] = {}
        for part in self.kept.parts:
            for occurrence in self.linker.live(part):
                if occurrence.kind == "load" and self.names_dataclass(part.module, occurrence):
                    uses.setdefault(part, []).append(occurrence)
        waiting = [(part, occurrence) for part, found in uses.items() for occurrence in found]
        while waiting:
            part, occurrence = waiting.pop()
            made = self.maker(part, occurrence)
            if made is None:
                self.anything = True
            elif made and made[0] not in self.makers:
                self.makers.update(made)
                for user in self.kept.parts:
                    for other in self.linker.live(user):
                        reference = self.bindings.of(user.module, other)
                        if other.kind == "load" and reference and reference.meaning in made:
                            waiting.append((user, other))

    def names_dataclass(self, module: Module, occurrence: Occurrence) -> bool:
        """Whether a name is `dataclass`, or the module `dataclasses` as a value."""
        reference = self.bindings.of(module, occurrence)
        if reference is not None:
            meaning = reference.meaning
            if not isinstance(meaning, Outside) or meaning.module != "dataclasses":
                return False
        elif occurrence.name not in self.local_imports.get(module.name, ()):
            return False
        return self.bindings.imported_path(module, occurrence) in (DATACLASS, "dataclasses")

    def maker(self, part: Part, occurrence: Occurrence) -> list[Variable] | None:
        """What stands for `dataclass` because of a use: nothing for a decorator of a class, a variable for an
        assignment or a function; None where the use cannot be followed.
        """
        node: ast.AST = occurrence.attributes[-1] if occurrence.attributes else occurrence.node
        for found in self.classes(part):
            if any(node in (d, d.func if isinstance(d, ast.Call) else d) for d in found.decorator_list):
                return []
        match part.node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if self.is_factory(value, node):
                return [Variable(part.module.name, name)]
            case ast.FunctionDef(name=name):
                self.parts.add(part)
                return [Variable(part.module.name, name)]
        return None

    def is_factory(self, value: ast.expr, node: ast.AST) -> bool:
        """Whether an expression is `dataclass`, `dataclass(option=...)` or `partial(dataclass, option=...)`."""
        match value:
            case ast.Call(func=func, args=[]):
                return func is node
            case ast.Call(args=[first]):
                return first is node
        return value is node

    def is_dataclass(self, part: Part, node: ast.ClassDef) -> bool:
        """Whether a class is, or may be, made a dataclass."""
        module = part.module
        if self.anything or part in self.parts:
            return not any(self.path(base, module).startswith(("typing.", "enum.")) for base in node.bases)
        for decorator in node.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            path = self.path(called, module)
            if path == DATACLASS or self.effects.meaning(called, module) in self.makers:
                return True
            if "." in path and path.split(".")[0] not in self.effects.standard:
                return True  # pydantic.dataclasses.dataclass and the like
        return False

    def path(self, node: ast.expr, module: Module) -> str:
        """The dotted name of a builtin or of something from outside; "" for anything else."""
        value: ast.AST = node.value if isinstance(node, ast.Subscript) else node
        occurrence = module.by_node.get(root_of(value))
        path = self.bindings.imported_path(module, occurrence) if occurrence else ""
        return path or self.effects.path(node, module)

    # Their fields

    def classes(self, part: Part) -> Iterator[ast.ClassDef]:
        """The classes in a part that freezing left."""
        rewrite, waiting = self.rewrites[part.module.name], [part.node]
        while waiting:
            node = waiting.pop(0)
            if not rewrite.is_dead(part.module.source.start(node)):
                if isinstance(node, ast.ClassDef):
                    yield node
                waiting += _statements(node)

    def annotated(self, part: Part, node: ast.ClassDef) -> Iterator[ast.AnnAssign]:
        """The annotated names in a class body, those in its blocks included."""
        rewrite, waiting = self.rewrites[part.module.name], list(node.body)
        while waiting:
            statement = waiting.pop(0)
            if rewrite.is_dead(part.module.source.start(statement)):
                continue
            if isinstance(statement, ast.AnnAssign) and statement.simple:
                yield statement
            if not isinstance(statement, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                waiting = _statements(statement) + waiting

    def is_string(self, module: Module, node: ast.expr) -> bool:
        """Whether a stored annotation is a string at run time."""
        return "annotations" in module.future or (isinstance(node, ast.Constant) and isinstance(node.value, str))

    # Who could see it

    def check_observers(self) -> None:
        """Refuse kept code that could read the types of fields, which are strings in the recipe only."""
        for part in self.kept.parts:
            parents: dict[ast.AST, ast.AST] = {}
            rewrite, source = self.rewrites[part.module.name], part.module.source
            for node in trees.nodes(part.node):
                for child in ast.iter_child_nodes(node):
                    parents[child] = node
            for node in parents:
                if not isinstance(node, ast.expr) or rewrite.is_dead(source.start(node)):
                    continue
                match node:
                    case ast.Attribute(attr="__annotations__") | ast.Constant(value="__annotations__"):
                        self.observed(part, node, "`__annotations__` is read")
                    case ast.Attribute(attr="annotation", ctx=ast.Load()):
                        self.observed(part, node, "`.annotation` is read")
                    case ast.Attribute(attr="__doc__", ctx=ast.Load()) if self.without_text:
                        self.observed(part, node, "`.__doc__` is read, which dataclasses make of a signature")
                    case ast.Attribute(attr="__dataclass_fields__") | ast.Constant(value="__dataclass_fields__"):
                        if not _is_called_by(parents[node], "hasattr"):
                            self.observed(part, node, "`__dataclass_fields__` is read")
                    case ast.Name() | ast.Attribute():
                        self.check_call(part, node, self.path(node, part.module), parents)

    def check_hints(self) -> None:
        """Refuse `get_type_hints` of a class with an annotation that is text: it looks the names up in the module that
        sys.modules has for the class, which is none, or another, where the file was loaded by path.
        """
        for part in self.kept.parts:
            for occurrence in self.linker.live(part):
                if self.bindings.imported_path(part.module, occurrence) not in HINTS:
                    continue
                node = occurrence.attributes[-1] if occurrence.attributes else occurrence.node
                call = part.module.call_of(node)
                if occurrence.kind == "load" and not (call and (len(call.args) > 1 or self.is_hinted(part, call))):
                    what = next(iter(self.text.values()))
                    message = f"get_type_hints finds no names where the file is loaded by path, and {what} is a string"
                    remedy = "write the type without quotes, from names that are bound above the class"
                    self.problems.append(part.module.problem(occurrence.start, "BLD041", message, remedy))

    def is_hinted(self, part: Part, call: ast.Call) -> bool:
        """Whether what a call of `get_type_hints` asks about has its names anywhere: a function, or a class of the
        recipe without text.
        """
        if self.is_of_function(part, call) or any(keyword.arg == "globalns" for keyword in call.keywords):
            return True
        return bool(call.args) and self.is_without_text(part.module, call.args[0])

    def is_without_text(self, module: Module, node: ast.expr) -> bool:
        """Whether an expression is a class of the recipe, and no annotation of it or of those that it derives from is
        text.
        """
        meaning = self.effects.meaning(node, module)
        definition = self.bindings.definition(meaning) if isinstance(meaning, Variable) else None
        if not isinstance(meaning, Variable) or not isinstance(definition, ast.ClassDef) or definition in self.text:
            return False
        home = self.bindings.modules[meaning.module]
        bases = [base for base in definition.bases if not self.path(base, home)]
        return all(self.is_without_text(home, base) for base in bases)

    def check_call(self, part: Part, node: ast.expr, path: str, parents: dict[ast.AST, ast.AST]) -> None:
        """Refuse a use of a function that shows types of fields, unless it is seen that nobody looks at them."""
        call = parents[node]
        if path not in ("dataclasses.fields", "inspect.signature", *SHOW_TYPES) or isinstance(call, ast.Attribute):
            return
        called = isinstance(call, ast.Call) and call.func is node
        if path == "dataclasses.fields" and isinstance(call, ast.Call) and called:
            seen = self.seen_types(part, call, parents)
            if seen is None:
                self.observed(part, node, "`fields` of dataclasses are passed on")
            for attribute in seen or []:
                self.observed(part, attribute, "the type of a field is read")
        elif path == "inspect.signature" and isinstance(call, ast.Call) and called:
            if not self.is_of_function(part, call) and not _shows_names_only(call, parents):
                self.observed(part, node, "a signature is read, which may be a dataclass's")
        else:
            self.observed(part, node, f"`{path}` is used")

    def is_of_function(self, part: Part, call: ast.Call) -> bool:
        """Whether the argument of a call is a function of the recipe."""
        match call.args:
            case [ast.Name() | ast.Attribute() as argument]:
                meaning = self.effects.meaning(argument, part.module)
                definition = self.bindings.definition(meaning) if isinstance(meaning, Variable) else None
                return isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef))
        return False

    def seen_types(self, part: Part, call: ast.Call, parents: dict[ast.AST, ast.AST]) -> list[ast.Attribute] | None:
        """Where the types are read of what one call of `fields` gives; None where it cannot be followed."""
        parent = parents[call]
        match parent:
            case ast.Call(func=ast.Name(id="len")):
                return []
            case (
                ast.For(iter=iterated, target=ast.Name() as target)
                | ast.comprehension(iter=iterated, target=ast.Name() as target)
            ) if iterated is call:
                bound = part.module.by_node[target]
                home, seen = bound.home(), []
                if len(home.bound[bound.name]) > 1:
                    return None
                for occurrence in self.linker.live(part):
                    if occurrence.name == bound.name and occurrence.home() is home and occurrence.kind == "load":
                        if not occurrence.attributes:
                            return None
                        if occurrence.attributes[0].attr == "type":
                            seen.append(occurrence.attributes[0])
                return seen if home is not part.module.scope else None
        return None

    def observed(self, part: Part, node: ast.expr, what: str) -> None:
        """Refuse one place that reads what the repair changes."""
        message = f"{what}, and fields of dataclasses have types here that are strings in the recipe"
        remedy = "take `from __future__ import annotations` and quotes from the dataclasses, or ask get_type_hints"
        self.problems.append(part.module.problem(part.module.source.start(node), "BLD041", message, remedy))


class _Field:
    """One annotated name of a dataclass."""

    def __init__(self, fields: _Fields, part: Part, owner: ast.ClassDef, node: ast.AnnAssign) -> None:
        self.fields = fields
        self.bindings = fields.bindings
        self.part = part
        self.module = part.module
        self.owner = owner
        self.node = node
        self.annotation = node.annotation
        self.rewrite = fields.rewrites[part.module.name]
        # Under the future import a quoted annotation is a string in a string, and dataclasses sees a quote first.
        self.twice = isinstance(self.annotation, ast.Constant) and "annotations" in part.module.future
        self.plain = not isinstance(self.annotation, ast.Constant) or self.annotation.value is None

    def write(self) -> None:
        """Decide what the annotation becomes, and write it."""
        self.fields.nodes.add(self.annotation)
        text, tree = self.original()
        if tree is None:
            self.refuse(f"{text if self.twice else repr(text)} is no expression")
        elif not self.is_special(text):
            self.keep(not self.mentions_special(tree) and self.evaluates(tree))
        elif not self.names_special(tree):
            self.refuse(f"`{text}` begins with what dataclasses treats apart, and is more than that")
        elif isinstance(tree, ast.Subscript) and not self.evaluates(tree.slice):
            self.quote_inner(tree)
        else:
            self.keep(True)

    def original(self) -> tuple[str, ast.expr | None]:
        """The text that dataclasses sees, and its expression as the recipe has it."""
        if self.plain:
            tree = self.rewrite.expressions.get(self.annotation, self.annotation)
            return ast.unparse(tree), tree
        source = self.module.source
        text = ast.literal_eval(source.text[source.start(self.annotation) : source.end(self.annotation)])
        return f'"{text}"' if self.twice else text, _parsed(text)

    # What dataclasses makes of it

    def is_special(self, text: str) -> bool:
        """Whether dataclasses, looking at the text, treats the field apart."""
        match = FIRST_WORD.match(text)
        if match is None:
            return False
        prefix, word = match.groups()
        if prefix:
            meaning = self.runtime(prefix)
            module = meaning.path if isinstance(meaning, Outside) and meaning.name is None else ""
            return module in ("typing", "dataclasses") and f"{module}.{word}" in SPECIAL
        return self.stands_for_special(self.runtime(word))

    def runtime(self, name: str) -> object:
        """What a name of the module means while the program runs: nothing that only type checkers import."""
        imports = [found for found in self.module.imports if found.bound == name and found.scope is self.module.scope]
        if imports and all(found.typing for found in imports):
            return None
        return self.bindings.variable(self.module, name)

    def stands_for_special(self, meaning: object) -> bool:
        """Whether something is ClassVar, InitVar, KW_ONLY, one of them with a type, or another name for that."""
        if isinstance(meaning, Outside):
            return meaning.path in SPECIAL
        if isinstance(meaning, Variable):
            definition = self.bindings.definition(meaning)
            if isinstance(definition, (ast.Assign, ast.AnnAssign)) and definition.value is not None:
                return self.is_special_value(definition.value, self.bindings.modules[meaning.module])
        return False

    def is_special_value(self, node: ast.expr, module: Module) -> bool:
        """Whether the value of an expression is treated apart."""
        node = node.value if isinstance(node, ast.Subscript) else node
        if self.fields.path(node, module) in SPECIAL:
            return True
        meaning = self.fields.effects.meaning(node, module)
        return isinstance(meaning, Variable) and self.stands_for_special(meaning)

    def names_special(self, tree: ast.expr) -> bool:
        """Whether an annotation is nothing but what is treated apart: its value is treated so too."""
        node = tree.value if isinstance(tree, ast.Subscript) else tree
        match node:
            case ast.Name(id=name):
                return self.stands_for_special(self.runtime(name)) and not self.is_late_name(node)
            case ast.Attribute(value=ast.Name()):
                return True
        return False

    def mentions_special(self, tree: ast.expr) -> bool:
        """Whether any name in an annotation stands for what is treated apart."""
        for node in trees.nodes(tree):
            match node:
                case ast.Name(id=name) if self.stands_for_special(self.bindings.variable(self.module, name)):
                    return True
                case ast.Attribute(value=ast.Name(id=name), attr=attr):
                    meaning = self.bindings.variable(self.module, name)
                    if isinstance(meaning, Outside) and f"{meaning.path}.{attr}" in SPECIAL:
                        return True
                    if isinstance(meaning, InPackage) and self.stands_for_special(
                        self.bindings.member(meaning.module, attr)
                    ):
                        return True
        return False

    # Whether it can be evaluated

    def evaluates(self, node: ast.expr) -> bool:
        """Whether evaluating an annotation where the class stands surely gives a value and does nothing else."""
        match node:
            case ast.Constant(value=value):
                return value is None or value is Ellipsis or (isinstance(value, str) and _parsed(value) is not None)
            case ast.Name():
                return not self.is_late_name(node)
            case ast.Attribute():
                return self.attribute(node) is not None
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return (self.is_class(left) or self.is_class(right)) and self.is_member(left) and self.is_member(right)
            case ast.Subscript(value=value, slice=inner):
                path = self.named(value)
                if path in ("typing.Literal", "typing_extensions.Literal"):
                    return all(map(self.is_literal, _elements(inner)))
                if path in ("typing.Annotated", "typing_extensions.Annotated"):
                    first, *notes = _elements(inner)
                    return self.evaluates(first) and all(map(self.is_literal, notes))
                return self.takes_types(value) and all(map(self.evaluates, _elements(inner)))
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                return all(map(self.evaluates, elements))
        return False

    def is_literal(self, node: ast.expr) -> bool:
        """A constant, or a member of an enumeration of the recipe."""
        match node:
            case ast.Constant() | ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
                return True
            case ast.Attribute():
                return self.attribute(node) is not None
        return False

    def is_member(self, node: ast.expr) -> bool:
        """Whether an expression can stand in a union."""
        return (isinstance(node, ast.Constant) and node.value is None) or self.is_class(node)

    def is_class(self, node: ast.expr) -> bool:
        """Whether the value of an expression surely is a class or a type that has `|`."""
        match node:
            case ast.Subscript() | ast.BinOp():
                return self.evaluates(node)
            case ast.Name():
                if self.is_late_name(node):
                    return False
                path = self.named(node)
                if path:
                    return _is_in(path, CLASSES) or path.startswith(TYPING) or _is_builtin_class(path)
                return self.is_own_class(self.meaning(node))
            case ast.Attribute():
                return self.attribute(node) == "class"
        return False

    def is_own_class(self, meaning: object) -> bool:
        """Whether something is a class of the recipe, and one whose `|` is that of every class."""
        definition = self.bindings.definition(meaning) if isinstance(meaning, Variable) else None
        if not isinstance(meaning, Variable) or not isinstance(definition, ast.ClassDef) or definition.keywords:
            return False
        home = self.bindings.modules[meaning.module]
        decorators = [d.func if isinstance(d, ast.Call) else d for d in definition.decorator_list]
        return all(self.fields.path(decorator, home) in (DATACLASS, "typing.final") for decorator in decorators)

    def takes_types(self, node: ast.expr) -> bool:
        """Whether the value of an expression surely can be subscripted with types."""
        if not isinstance(node, (ast.Name, ast.Attribute)) or not self.evaluates(node):
            return False
        path = self.named(node)
        if path:
            return _is_in(path, SUBSCRIPTED) or path.startswith(TYPING)
        meaning = self.meaning(node)
        definition = self.bindings.definition(meaning) if isinstance(meaning, Variable) else None
        if not isinstance(meaning, Variable) or not isinstance(definition, ast.ClassDef):
            return False
        home = self.bindings.modules[meaning.module]
        bases = [self.fields.path(b, home) for b in definition.bases if isinstance(b, ast.Subscript)]
        return any(base.startswith(("typing.Generic", "typing.Protocol")) for base in bases)

    def attribute(self, node: ast.Attribute) -> str | None:
        """What a dotted name surely gives, "class" or "value"; None where it may not be there."""
        root = root_of(node)
        if not isinstance(root, ast.Name) or self.is_late_name(root):
            return None
        path = self.named(node)
        if path:
            return "class" if _is_in(path, CLASSES) or path.startswith(TYPING) else None
        meaning = self.meaning(node)
        if isinstance(meaning, Variable):  # of a module of the recipe
            return "class" if self.is_own_class(meaning) and self.is_bound(meaning) else None
        owner = self.meaning(node.value) if isinstance(node.value, ast.Name) else None
        definition = self.bindings.definition(owner) if isinstance(owner, Variable) else None
        if isinstance(definition, ast.ClassDef):
            for statement in definition.body:
                match statement:
                    case ast.ClassDef(name=name) if name == node.attr:
                        return "class"
                    case ast.Assign(targets=[ast.Name(id=name)]) if name == node.attr:
                        return "value"
        return None

    def is_late_name(self, node: ast.Name) -> bool:
        """Whether a name may not be bound yet, or have another value, where the class statement runs."""
        occurrence = self.occurrence(node)
        if occurrence is None:
            return True
        home = occurrence.home()
        if home is not self.module.scope:
            return home.kind != "types"
        meaning = self.bindings.variable(self.module, node.id)
        if meaning is None:
            return not _is_builtin_class(node.id)
        if isinstance(meaning, Outside):
            imports = self.fields.kept.outside.get(meaning, [])
            return not any(found not in self.fields.late for found in imports)
        return isinstance(meaning, Variable) and not self.is_bound(meaning)

    def is_bound(self, variable: Variable) -> bool:
        """Whether one statement above the class's binds a variable, and no other ever does."""
        module = self.bindings.modules[variable.module]
        bound = module.scope.bound.get(variable.name, [])
        if len(bound) != 1 or bound[0].scope is not module.scope:
            return False
        part = module.parts[bound[0].part]
        order = self.fields.order
        if part not in order or order[part] >= order[self.part]:
            return False
        return _binds(part.node, variable.name)

    def occurrence(self, node: ast.Name) -> Occurrence | None:
        """The place of a name in the annotation, or in the string that it is written as."""
        found = self.module.by_node.get(node)
        if found is not None:
            return found
        start, end = self.module.source.start(self.annotation), self.module.source.end(self.annotation)
        for occurrence in self.module.by_part.get(self.part.index, []):
            if occurrence.kind == "type_load" and occurrence.name == node.id and start <= occurrence.start < end:
                return occurrence
        return None

    def meaning(self, node: ast.expr) -> object:
        """What a dotted name of the recipe stands for, when all of it belongs to that."""
        names: list[str] = []
        root = node
        while isinstance(root, ast.Attribute):
            names.insert(0, root.attr)
            root = root.value
        if not isinstance(root, ast.Name):
            return None
        meaning = self.bindings.variable(self.module, root.id)
        while isinstance(meaning, InPackage) and names:
            meaning = self.bindings.member(meaning.module, names.pop(0))
        return None if names else meaning

    def named(self, node: ast.expr) -> str:
        """The dotted name of a builtin or of something from outside; "" for anything else."""
        names: list[str] = []
        root = node
        while isinstance(root, ast.Attribute):
            names.insert(0, root.attr)
            root = root.value
        if not isinstance(root, ast.Name):
            return ""
        meaning = self.bindings.variable(self.module, root.id)
        if meaning is None:
            return root.id if not names else ""
        return ".".join([meaning.path, *names]) if isinstance(meaning, Outside) else ""

    # What is written

    def keep(self, real: bool) -> None:
        """Write the annotation as an expression, or as a string in which dataclasses looks for nothing."""
        if not real:
            self.fields.stays_text(self.module, self.owner, self.node)
        if not self.plain:
            tree = self.final()
            self.replace(tree, ast.unparse(tree) if real else quoted(f"({ast.unparse(tree)})"))
            if not real:
                self.rewrite.quoted.add(self.annotation)
        elif not real:
            self.quote(self.annotation, True)

    def quote_inner(self, tree: ast.Subscript) -> None:
        """`ClassVar[Later]` becomes `ClassVar["Later"]`."""
        self.fields.stays_text(self.module, self.owner, self.node)
        if self.plain:
            self.quote(tree.slice, False)
            return
        final = self.final()
        assert isinstance(final, ast.Subscript)
        inner = ast.unparse(final.slice)
        final.slice = ast.Constant(inner)
        self.replace(final, f"{ast.unparse(final.value)}[{quoted(inner)}]")

    def final(self) -> ast.expr:
        """The expression in a string annotation, under its final names."""
        assert isinstance(self.annotation, ast.Constant)
        tree = _parsed(str(self.annotation.value))
        assert tree is not None
        return tree

    def replace(self, tree: ast.expr, text: str) -> None:
        """Write an expression in the place of a string annotation, whose names are final already."""
        start, end = self.module.source.start(self.annotation), self.module.source.end(self.annotation)
        edits = self.rewrite.edits
        self.rewrite.edits = [edit for edit in edits if (edit.start, edit.end) != (start, end)]
        self.rewrite.edits.append(Edit(start, end, (text,)))
        self.rewrite.expressions[self.annotation] = tree

    def quote(self, node: ast.expr, parentheses: bool) -> None:
        """Write an expression as a string."""
        start, end = self.module.source.start(node), self.module.source.end(node)
        self.rewrite.edits.append(Edit(start, end, (Quote(start, end, parentheses),)))
        self.rewrite.quoted.add(node)

    def refuse(self, why: str) -> None:
        target = ast.unparse(self.node.target)
        message = f"the field `{target}` of the dataclass {self.owner.name} cannot be written: {why}"
        remedy = "write its type without quotes, from names that are bound above the class"
        self.fields.problems.append(
            self.module.problem(self.module.source.start(self.annotation), "BLD041", message, remedy)
        )


def _is_called_by(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _shows_names_only(call: ast.Call, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether of a signature only the names of its parameters are used, or how arguments are bound to them."""
    attribute = parents[call]
    if not isinstance(attribute, ast.Attribute):
        return False
    if attribute.attr in ("bind", "bind_partial"):
        return True
    user = parents[attribute]
    if attribute.attr != "parameters":
        return False
    match user:
        case ast.Call(func=ast.Name(id="list" | "tuple" | "set" | "frozenset" | "sorted" | "len")):
            return True
        case ast.Compare(ops=[ast.In() | ast.NotIn()]) | ast.Attribute(attr="keys"):
            return True
        case ast.For(iter=iterated) | ast.comprehension(iter=iterated):
            return iterated is attribute
    return False


def _statements(node: ast.AST) -> list[ast.stmt]:
    """The statements directly inside one, those of handlers and cases included."""
    found: list[ast.stmt] = []
    for inner in inner_statements(node):
        found += [inner] if isinstance(inner, ast.stmt) else inner.body
    return found


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _is_in(path: str, table: dict[str, tuple[str, ...]]) -> bool:
    module, _, name = path.rpartition(".")
    return name in table.get(module, ())


def _is_builtin_class(name: str) -> bool:
    return isinstance(getattr(builtins, name, None), type)


def _binds(node: ast.stmt, name: str) -> bool:
    """Whether a top-level statement, once it has run, has surely bound a name."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return node.name == name
        case ast.Assign() | ast.Import() | ast.ImportFrom():
            return True
        case ast.AnnAssign():
            return node.value is not None
    return type(node).__name__ == "TypeAlias"

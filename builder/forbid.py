"""What kept code may not do, because in one file it would mean something else, or nothing: each with its place and a
way out.
"""

from __future__ import annotations

import ast
from typing import TypeGuard

from builder import trees
from builder.availability import Availability, is_caught, is_standard, lacks, missed
from builder.bindings import Bindings, Variable
from builder.class_modules import ClassModules
from builder.errors import Problem
from builder.link import ATTRIBUTE_CALLS, Linker, paths_by_getattr
from builder.loaded import Loaded
from builder.objects import argument_of
from builder.reflection import Reflection, powerful
from builder.scan import External, Import, Module, Part, catches_import_error
from builder.scopes import Occurrence
from builder.settings import Settings
from builder.shake import Kept, Shaker
from builder.values import RaisedError
from builder.versions import absent, newer_syntax, version

BUILTINS = {
    "__import__": ("BLD012", "imports by a name computed at run time", "write an import statement"),
    "exec": (
        "BLD020",
        "runs code from a string",
        "write the code itself: source that is a string can be neither read nor jitted",
    ),
    "eval": ("BLD020", "runs code from a string", "write the expression itself"),
    "compile": ("BLD020", "compiles code from a string", "write the code itself"),
    "globals": (
        "BLD025",
        "reads the module's names as a dictionary, which in one file holds every module's",
        "name what you need",
    ),
    "__file__": (
        "BLD023",
        "is the path of another file in the artifact",
        "pass paths in, or put the data into the code",
    ),
    "__path__": ("BLD023", "does not exist in the artifact", "pass paths in, or put the data into the code"),
    "__spec__": ("BLD023", "is not the module's own in the artifact", "do without it"),
    "__loader__": ("BLD023", "is not the module's own in the artifact", "do without it"),
    "__package__": ("BLD023", "is not the module's own in the artifact", "do without it"),
    "__doc__": ("BLD023", "is another docstring in the artifact", "assign the text to a variable"),
    "__builtins__": ("BLD025", "is an implementation detail", "do without it"),
    "__annotations__": ("BLD025", "holds the annotations of every module in the artifact", "name the types"),
}
OUTSIDE = {
    "builtins.__dict__": ("BLD012", "reaches every builtin by name", "name the builtin"),
    "code": ("BLD020", "runs code from a string", "write the code itself"),
    "cProfile.run": ("BLD020", "runs code from a string", "use the Profile object"),
    "doctest": ("BLD012", "looks a module up at run time", "leave it to the recipe's tests"),
    "fileinput": ("BLD022", "reads the command line", "open the files by name"),
    "getopt": ("BLD022", "is for the command line", "make the options fields of the config"),
    "importlib.metadata.EntryPoint": ("BLD012", "imports by a name in a string", "write an import statement"),
    "importlib.metadata.entry_points": ("BLD012", "looks modules up at run time", "write import statements"),
    "inspect.getabsfile": ("BLD023", "is the artifact's path for every function", "write the name that you need"),
    "inspect.getfile": ("BLD023", "is the artifact's path for every function", "write the name that you need"),
    "inspect.getmodule": ("BLD023", "gives the artifact for every function", "name what you need"),
    "inspect.getsourcefile": ("BLD023", "is the artifact's path for every function", "write the name that you need"),
    "optparse": (
        "BLD022",
        "reads the command line; the artifact is launched by the bare command",
        "make the options fields of the config",
    ),
    "os.path.expandvars": ("BLD021", "reads the environment", "write the value"),
    "posix.environ": ("BLD021", "reads the environment", "make it a field of the config"),
    "profile.run": ("BLD020", "runs code from a string", "use the Profile object"),
    "pydoc.locate": ("BLD012", "imports by a name in a string", "write an import statement"),
    "pydoc.resolve": ("BLD012", "imports by a name in a string", "write an import statement"),
    "sys.meta_path": ("BLD012", "changes how modules are found", "write import statements"),
    "sys.orig_argv": ("BLD022", "reads the command line", "make it a field of the config"),
    "sys.path_hooks": ("BLD012", "changes how modules are found", "write import statements"),
    "zipimport": ("BLD012", "imports by a path in a string", "write an import statement"),
    "importlib.resources": (
        "BLD023",
        "reads a file of the package, which the artifact does not have",
        "put the data into code",
    ),
    "importlib": ("BLD012", "imports by a name computed at run time", "write an import statement"),
    "runpy": ("BLD012", "runs a module by name", "write an import statement"),
    "pkgutil.get_data": (
        "BLD023",
        "reads a file of the package, which the artifact does not have",
        "put the data into code",
    ),
    "pkgutil": ("BLD012", "looks modules up at run time", "write import statements"),
    "sys.modules": (
        "BLD014",
        "reaches modules by name; the artifact has none but itself",
        "call the function by its own name",
    ),
    "sys.argv": (
        "BLD022",
        "reads the command line; the artifact is launched by the bare command",
        "make it a field of the config",
    ),
    "argparse": (
        "BLD022",
        "reads the command line; the artifact is launched by the bare command",
        "make the options fields of the config",
    ),
    "os.environb": ("BLD021", "reads the environment", "make it a field of the config"),
    "os.putenv": ("BLD021", "sets an environment variable", "make it part of the launch command, or drop it"),
    "os.unsetenv": ("BLD021", "removes an environment variable", "drop it"),
}
# Packages whose kernels do the work on the machine's device.
KERNEL_PACKAGES = frozenset({"nki", "neuronxcc", "torch_neuronx"})
TELLING = frozenset({"logging.critical", "logging.error", "logging.warning", "print", "warnings.warn"})
HARMLESS = (
    *(f"importlib.machinery.{name}" for name in ("EXTENSION_SUFFIXES", "SOURCE_SUFFIXES", "BYTECODE_SUFFIXES")),
    "importlib.metadata",
)


def forbidden(
    linker: Linker,
    shaker: Shaker,
    bindings: Bindings,
    settings: Settings,
    kept: Kept,
    classes: ClassModules,
    lined: dict[Part, None],
) -> list[Problem]:
    """Every problem of kept code, in order. `lined` gathers the parts whose lines must keep their distances."""
    parts, loaded = kept.parts, Loaded(shaker, kept)
    modules = dict.fromkeys(part.module for part in parts)
    mirrors = {module: Reflection(bindings, module, classes, lined) for module in modules}
    return [
        problem
        for part in parts
        for problem in (
            *_Part(linker, shaker, bindings, settings, part, loaded).problems(),
            *mirrors[part.module].problems(part),
        )
    ]


class _Part:
    def __init__(
        self, linker: Linker, shaker: Shaker, bindings: Bindings, settings: Settings, part: Part, loaded: Loaded
    ) -> None:
        self.loaded = loaded
        self.linker = linker
        self.shaker = shaker
        self.bindings = bindings
        self.settings = settings
        self.part = part
        self.module: Module = part.module
        self.python = version(settings.profile.machine.python)
        self.availability = Availability(shaker.program)

    def problems(self) -> list[Problem]:
        found: list[Problem] = []
        live = self.linker.live(self.part)
        by_getattr = paths_by_getattr(self.part.node) if any(o.name in ATTRIBUTE_CALLS for o in live) else {}
        for occurrence in live:
            if occurrence.kind == "import":
                continue
            path = self.path(occurrence)
            if path is None:
                continue
            path, wrong = powerful(path, occurrence, by_getattr)
            if wrong:
                remedy = "name what you need of it"
                found.append(self.module.problem(occurrence.start, "BLD012", f"`{path}` {wrong}", remedy))
            path = path.removeprefix("builtins.") if path != "builtins.__dict__" else path
            if path == "os.environ" or path.startswith("os.environ.") or path == "os.getenv":
                found += self.environment(occurrence)
                continue
            lost = absent(path, self.python) if occurrence.kind == "load" else ""
            if lost and ("." not in path or not absent(path.split(".")[0], self.python)):  # else told at its import
                message = f"{lost}, and the contest's machine has {self.settings.profile.machine.python}"
                remedy = "write it in a way that this version knows"
                found.append(self.module.problem(occurrence.start, "BLD048", message, remedy))
            if path == "argparse.Namespace":
                continue  # options that stay an object, and annotations of them
            if path == "sys.argv" and _is_own_path(self.part.node, occurrence):
                continue  # where the program lies is the same question in one file
            if path == "sys.modules" and self.loaded.is_known(self.part, occurrence):
                continue
            words = path.split(".")
            named = next((name for end in range(len(words), 0, -1) if (name := ".".join(words[:end])) in OUTSIDE), None)
            excused = any(path.startswith(free) and free.startswith(str(named)) for free in HARMLESS)
            if named is not None and not excused:
                code, message, remedy = OUTSIDE[named]
                found.append(self.module.problem(occurrence.start, code, f"`{path}` {message}", remedy))
            if path == "__import__" and occurrence.kind == "load" and self.plain_import(occurrence):
                continue
            if path in BUILTINS and occurrence.kind == "load":
                code, message, remedy = BUILTINS[path]
                found.append(self.module.problem(occurrence.start, code, f"`{path}` {message}", remedy))
        return found + self.imports() + self.module_attributes() + self.syntax()

    def plain_import(self, occurrence: Occurrence) -> bool:
        """Whether `__import__("name")` can only fail on the contest's machine, where the program catches that."""
        for node in trees.nodes(self.part.node):
            match node:
                case ast.Call(func=function, args=[ast.Constant(value=str(name))], keywords=[]) if (
                    function is occurrence.node and not self.shaker.program.is_ours(name)
                ):
                    missing = lacks(self.settings, name)
                    if missing and is_caught(self.part.node, node):
                        line = self.module.source.line(occurrence.start)
                        self.shaker.warnings.append(missed(self.module.source.name, line, missing))
                        return True
        return False

    def syntax(self) -> list[Problem]:
        """Syntax that the contest's Python cannot read."""
        rewrite = self.linker.rewrites[self.module.name]
        return [
            self.module.problem(
                start,
                "BLD043",
                f"{what}, and the contest's machine has {self.settings.profile.machine.python}",
                "write it in that version's syntax",
            )
            for start, what in newer_syntax(self.module.source, self.part.node, self.python)
            if not rewrite.is_dead(start)
        ]

    def path(self, occurrence: Occurrence) -> str | None:
        """The dotted name of a builtin or of something from outside, attributes included; through local imports too."""
        if occurrence.home() is self.module.scope and self.bindings.of(self.module, occurrence) is None:
            return occurrence.name
        return self.bindings.imported_path(self.module, occurrence) or None

    def environment(self, occurrence: Occurrence) -> list[Problem]:
        """A variable may be set, and read where the launcher or the harness owns it. (Knobs are frozen by now.)"""
        for node in trees.nodes(self.part.node):
            if _is_write(node, occurrence):
                return []
            read = _variable_read(node, occurrence)
            if read is None:
                continue
            if not _is_text(read):
                return self.reads_by_parameter(occurrence, read)
            name = str(read.value)
            return [] if self.settings.is_owned(name) else [self.undecided(self.module, node, occurrence.start, name)]
        message = "uses the environment in another way than reading or setting one variable by its literal name"
        return [
            self.module.problem(occurrence.start, "BLD021", message, "name the variables that it is about, one by one")
        ]

    def undecided(self, module: Module, node: ast.AST, start: int, name: str) -> Problem:
        """A read of a variable that is no launcher's, and that settings did not decide."""
        why = self.linker.rewrites[module.name].undecided.get(node)
        if isinstance(why, RaisedError) and why.kind is KeyError:
            message = f"reads the environment variable {name}, which is not set, and has no default for it"
            return module.problem(start, "BLD021", message, f"give it: --set {name}=VALUE")
        message = f"reads the environment variable {name}, and settings do not decide what comes of it"
        message += f": {why}" if why else ""
        owned = ", ".join(self.settings.profile.environment.launcher_owned)
        remedy = (
            f"read it by pure code with a plain default; of variables that are no knobs only these may be read: {owned}"
        )
        return module.problem(start, "BLD021", message, remedy)

    def reads_by_parameter(self, occurrence: Occurrence, read: ast.expr) -> list[Problem]:
        """Problems of a function that reads the variable that a parameter names: at its calls, where they are known."""
        remedy = "call it with names and defaults that settings decide, or read the variable by its literal name"
        calls = self.calls_naming(self.part, read, frozenset())
        if calls is None:
            unknown = f"reads an environment variable whose name is not known here: `{ast.unparse(read)}`"
            return [self.module.problem(occurrence.start, "BLD021", unknown, remedy)]
        problems = []
        for module, call, name in calls:
            start = module.source.start(call)
            if name is None:
                message = f"names an environment variable to `{ast.unparse(call.func)}` that is not known here"
                problems.append(module.problem(start, "BLD021", message, remedy))
            elif not self.settings.is_owned(name):
                problems.append(self.undecided(module, call, start, name))
        return problems

    def calls_naming(
        self, home: Part, node: ast.expr, seen: frozenset[ast.AST]
    ) -> list[tuple[Module, ast.Call, str | None]] | None:
        """The calls in kept code of the function whose parameter names a variable, through others that hand it on, with
        the name where it is literal; None where such a function is used in other ways.
        """
        function = home.node
        occurrence = home.module.by_node.get(node)
        if occurrence is None or not isinstance(function, ast.FunctionDef) or function in seen:
            return None
        scope = occurrence.home()
        if scope.node is not function or [one.kind for one in scope.bound[occurrence.name]] != ["parameter"]:
            return None
        found: list[tuple[Module, ast.Call, str | None]] = []
        for part in self.linker.order:
            for use in self.linker.live(part) if part in self.shaker.kept else ():
                reference = self.bindings.of(part.module, use)
                if reference is None or reference.meaning != Variable(home.module.name, function.name):
                    continue
                if use.kind != "load":
                    continue
                named = use.attributes[reference.attributes - 1] if reference.attributes else use.node
                call = part.module.call_of(named)
                written = argument_of(call, function, occurrence.name) if call else None
                if call is None or written is None:
                    return None
                handed_on = None if _is_text(written) else self.calls_naming(part, written, seen | {function})
                if handed_on is not None:
                    found += handed_on
                else:
                    found.append((part.module, call, str(written.value) if _is_text(written) else None))
        return found

    def imports(self) -> list[Problem]:
        found: list[Problem] = []
        rewrite = self.linker.rewrites[self.module.name]
        for item in self.part.imports:
            dead = rewrite.is_dead(self.module.source.start(item.statement))
            if dead and not self.is_looked_through(item.statement):
                continue
            start = self.module.source.start(item.statement)
            entry = self.shaker.program.entry
            if entry.name in item.runs and not item.typing and self.module is not entry:
                message = f"imports {entry.name}, which as the main program has another name: Python would run it twice"
                remedy = "move what both need into a module of its own"
                found.append(self.module.problem(start, "BLD014", message, remedy))
            outside = item.target.module if isinstance(item.target, External) else None
            missing = lacks(self.settings, item.target.path) if isinstance(item.target, External) else ""
            if item.caught and missing:
                line = self.module.source.line(start)
                self.shaker.warnings.append(missed(self.module.source.name, line, missing))
                continue
            if item.guard is not None and outside is not None and self.tells(item):
                what, line = f"an import of `{item.alias.name}` that may fail", self.module.source.line(start)
                self.shaker.warnings.append(f"{self.module.source.name}:{line}: {what}; the program then says so")
            elif item.guard is not None and outside is not None and not is_standard(outside):
                message = f"an import of `{item.alias.name}` that may fail and be passed over"
                remedy = (
                    "import it plainly, and let the config say which implementation runs: a fallback is never silent"
                )
                found.append(self.module.problem(self.module.source.start(item.guard), "BLD015", message, remedy))
            if (
                isinstance(item.target, External)
                and not item.direct
                and not self.availability.is_spare(self.module, item)
            ):
                found += available(self.settings, item.target.module, start, self.module)
        return found

    def tells(self, item: Import) -> bool:
        """Whether an import of a name, from a package that the module imports plainly, is followed by a word about its
        failure. What computes on the machine's own device is never chosen so.
        """
        if not isinstance(item.target, External) or item.target.name is None:
            return False
        top = item.target.module.split(".")[0]
        plain = any(
            found.direct and found.guard is None and not found.typing and found.target == External(top, None)
            for found in self.module.imports
        )
        if not plain or top in KERNEL_PACKAGES or not isinstance(item.guard, ast.Try):
            return False
        return all(
            isinstance(handler.body[0], ast.Expr)
            and isinstance(handler.body[0].value, ast.Call)
            and self.shaker.effects.path(handler.body[0].value.func, self.module) in TELLING
            for handler in item.guard.handlers
            if catches_import_error(handler)
        )

    def is_looked_through(self, node: ast.stmt) -> bool:
        return node in self.linker.rewrites[self.module.name].looked_through

    def module_attributes(self) -> list[Problem]:
        """Functions that Python calls on a module itself."""
        node = self.part.node
        if isinstance(node, ast.FunctionDef) and node.name in ("__getattr__", "__dir__"):
            message = f"a module-level `{node.name}` answers for a module that the artifact does not have"
            return [self.module.problem(self.part.start, "BLD013", message, "define the names themselves")]
        return []


def available(settings: Settings, name: str, start: int, module: Module) -> list[Problem]:
    """An import of something that the contest's machine lacks."""
    top, profile = name.split(".")[0], settings.profile
    if top == "__main__":
        message = "`__main__` is another program when the contest imports the artifact"
        return [module.problem(start, "BLD014", message, "name what you need, and import it from its module")]
    missing = lacks(settings, name)
    if not missing:
        return []
    if is_standard(name):
        remedy = "use what this version has, or put the code into the recipe"
        return [module.problem(start, "BLD048", missing, remedy)]
    if (settings.root / module.source.name).with_name(f"{top}.py").is_file():
        message = f"`{top}` is a file beside this one, which only a script finds under that name"
        return [module.problem(start, "BLD010", message, f"write `from . import {top}`")]
    remedy = f"do without it, or put the code into the recipe; the machine has: {', '.join(profile.machine.packages)}"
    return [module.problem(start, "BLD011", missing, remedy)]


def _variable_read(node: ast.AST, occurrence: Occurrence) -> ast.expr | None:
    """What names the variable in `os.environ["X"]`, `os.environ.get("X")`, `os.getenv("X")`, `"X" in os.environ`, when
    `occurrence` is its root.
    """
    match node:
        case ast.Subscript(ctx=ast.Load(), value=value, slice=name) if _ends_at(value, occurrence):
            return name
        case ast.Call(func=ast.Attribute(attr="get" | "getenv") as func, args=[name, *_]) if _ends_at(func, occurrence):
            return name
        case ast.Call(func=ast.Name() as func, args=[name, *_]) if _ends_at(func, occurrence):
            return name
        case ast.Compare(left=name, ops=[ast.In() | ast.NotIn()], comparators=[right]) if _ends_at(right, occurrence):
            return name
    return None


def _is_own_path(tree: ast.AST, occurrence: Occurrence) -> bool:
    """Whether an occurrence is the root of `sys.argv[0]`."""
    for node in trees.nodes(tree):
        match node:
            case ast.Subscript(ctx=ast.Load(), value=value, slice=ast.Constant(value=0)) if _ends_at(value, occurrence):
                return True
    return False


def _is_text(node: ast.expr) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_write(node: ast.AST, occurrence: Occurrence) -> bool:
    """Whether a statement sets one variable by its literal name."""
    match node:
        case ast.Assign(targets=[ast.Subscript(value=value, slice=ast.Constant(value=str()))]):
            return _ends_at(value, occurrence)
        case ast.Expr(value=ast.Call() as call) | ast.Assign(targets=[ast.Name()], value=ast.Call() as call):
            match call:
                case ast.Call(func=ast.Attribute(attr="setdefault") as func, args=[ast.Constant(value=str()), _]):
                    return _ends_at(func, occurrence)
    return False


def _ends_at(node: ast.AST, occurrence: Occurrence) -> bool:
    return trees.root_of(node) is occurrence.node

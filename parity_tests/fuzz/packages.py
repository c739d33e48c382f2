"""Packages: modules in sub-packages, imports of every kind between them, the config and the entry."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from parity_tests.fuzz.definitions import Definitions
from parity_tests.fuzz.expressions import FEATURES
from parity_tests.fuzz.names import NUMBER, Bound, Frame, Scope, Thing
from parity_tests.fuzz.statements import indent

CONFIG = """
from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    depth: int = {depth!r}
    flag: bool = {flag!r}
    kind: str = {kind!r}
    rate: float = {rate!r}

    @property
    def double(self) -> int:
        return 2 * self.depth


def load_config(argv=None):
    return Config()
"""
TOOLS = '''
import contextlib


def drive(coroutine):
    """The result of a coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    return 0


@contextlib.contextmanager
def held(value):
    yield value
'''
HEADER = ("import dataclasses", "import enum", "import functools", "import typing", "from pkg.tools import drive, held")
BEGUN = "main begins"
Form = Callable[[Scope], list[str]]
Definition = Callable[[str, Scope], list[str]]


@dataclass(eq=False)
class Module:
    """A module that has been written: its dotted name, what can be read of it, what a star import takes."""

    name: str
    things: dict[str, Thing]
    exports: list[str]
    imported: set[int] = field(default_factory=set)  # modules that have run when this one has
    changers: list[tuple[str, str]] = field(default_factory=list)  # functions that bind a name, and the names
    perhaps: bool = False  # whether a star import may take names that are bound on some paths only

    def thing(self) -> Thing:
        """The module as a value of which names can be read."""
        uses = [
            use.replace("{0}", f"{{0}}.{name}") for name, thing in sorted(self.things.items()) for use in thing.uses
        ]
        return Thing("module", tuple(uses), max((t.cost for t in self.things.values()), default=1))


class Packages(Definitions):
    """Writes one random package."""

    def __init__(self, rng: random.Random, features: frozenset[str] = FEATURES) -> None:
        super().__init__(rng, features)
        self.modules: list[Module] = []
        self.here = ""  # name of the module that is being written
        self.imported: set[int] = set()

    def package(self) -> dict[str, str]:
        """All files, by path."""
        rng = self.rng
        values = {
            "depth": rng.randrange(4),
            "flag": rng.random() < 0.5,
            "kind": rng.choice(["nki", "torch", "it's {x}"]),
            "rate": rng.choice([0.5, -1.5, 1e-06]),
        }
        files = {"pkg/__init__.py": "", "pkg/tools.py": TOOLS.lstrip()}
        if "config" in self.features:
            files["pkg/config.py"] = CONFIG.lstrip().format(**values)
        places = [f"m{i}" for i in range(rng.randint(1, 4))]
        if "packages" in self.features:
            at, size = rng.randrange(len(places) + 1), rng.randint(1, 2)
            inner = [f"sub.{rng.choice(['ops', 'a', 'deep.core'])}", "sub.m1"][:size]
            places[at:at] = inner
        for place in places:
            self.imported = set()
            parts = place.split(".")
            for i in range(1, len(parts)):
                files.setdefault("/".join(["pkg", *parts[:i], "__init__.py"]), "")
            files[f"pkg/{place.replace('.', '/')}.py"] = self.module(f"pkg.{place}")
            last = [p for p in places if p.split(".")[0] == parts[0]][-1]
            if "reexports" in self.features and len(parts) > 1 and place == last:
                files["pkg/sub/__init__.py"] = self.initializer("pkg.sub")
        files["pkg/train.py"] = self.entry()
        return files

    # Modules

    def start(self, name: str) -> tuple[Scope, list[str]]:
        self.here = name
        self.changers = []
        scope = Scope(Frame("module", frozenset(self.pool)), {})
        lines = list(HEADER)
        if "config" in self.features:
            lines.append("from pkg.config import Config, load_config")
        self.future = self.has("future", 0.3)
        if self.future:
            lines.insert(0, "from __future__ import annotations")
        if self.rng.random() < 0.2:
            lines.insert(0, '"""A module."""')
        return scope, lines

    def module(self, name: str) -> str:
        """The text of a module."""
        scope, lines = self.start(name)
        declared = self.rng.random() < 0.3
        place = len(lines)
        for _ in range(self.rng.randint(0, 3)):
            lines += self.import_module(scope)
        for _ in range(self.rng.randint(2, 6)):
            lines += self.top_statement(scope)
        things = {name: bound.thing for name, bound in scope.names.items()}
        exports = [name for name in things if not name.startswith("_")]
        perhaps = not all(name in things for name in scope.frame.others if not name.startswith("_"))
        if declared and things:
            exports, perhaps = self.rng.sample(sorted(things), self.rng.randint(1, len(things))), False
            lines.insert(self.rng.choice([place, len(lines)]), f"__all__ = {exports!r}")
        kept = [(f, v) for f, v in self.changers if f in things and things[f].uses == ("{0}()",) and v in things]
        self.modules.append(Module(name, things, exports, set(self.imported), kept, perhaps))
        return "\n".join(lines) + "\n"

    def initializer(self, package: str) -> str:
        """The `__init__` of a sub-package: re-exports of its modules, which count as its own names."""
        scope, lines = self.start(package)
        self.here = f"{package}.__init__"
        self.imported = set()
        taken = {m.name.removeprefix(f"{package}.").split(".")[0] for m in self.modules if m.name.startswith(package)}
        for number, module in enumerate(self.modules):
            if not module.name.startswith(f"{package}."):
                continue
            for name, thing in sorted(module.things.items()):
                if name not in taken and thing.kind != "module" and self.rng.random() < 0.5:
                    lines.append(f"from {self.relative(module.name)} import {name}")
                    scope.bind(name, thing)
                    self.imported |= module.imported | {number}
        lines = [line for line in lines if "load_config" not in line and "tools" not in line]
        names = {name: bound.thing for name, bound in scope.names.items()}
        self.modules.append(Module(package, names, sorted(n for n in names if not n.startswith("_")), self.imported))
        return "\n".join(lines) + "\n"

    def entry(self) -> str:
        """The main module: it uses everything, and says what every name of every module has become."""
        scope, lines = self.start("pkg.train")
        self.imported = set()
        for _ in range(self.rng.randint(1, 4)):
            lines += self.import_module(scope)
        for _ in range(self.rng.randint(1, 4)):
            lines += self.top_statement(scope)
        dump: list[str] = []
        for number, module in enumerate(self.modules):
            if self.rng.random() < 0.8:
                lines.append(f"import {module.name} as dump_{number}")
                self.imported |= module.imported | {number}
                for function, variable in module.changers:  # an imported value is not the variable
                    seen = f"seen_{self.fresh()}"
                    lines.append(f"from {module.name} import {variable} as {seen}")
                    place = f"dump_{number}"
                    dump.append(f"print({place}.{function}(), {seen}, {place}.{variable}, {seen})")
                for name, thing in sorted(module.things.items()):
                    for use in thing.uses if thing.cost < 200 else ():
                        if self.rng.random() < 0.7:
                            shown = use.format(f"dump_{number}.{name}", n=self.fresh())
                            dump.append(f'print("{module.name.replace(".", "/")}", "{name}", {shown})')
        numbers = [name for name, _ in scope.things("int")]
        dump += [f'print("pkg/train", "{name}", {name})' for name in numbers]
        config = "config" in self.features
        main = Frame("function", self.plan("config"), parent=scope.frame)
        main.planned -= frozenset(numbers)
        inner = scope.function(main)
        inner.config = config
        body = [f'print("{BEGUN}")', *[line for _ in range(3) for line in self.statement(inner, 2)]]
        body += [f"print({self.fresh()}, {self.number(inner)}, {self.number(inner)})"]
        end = self.rng.random()
        if self.has("exceptions") and end < 0.1:
            dump.append(f"raise {self.rng.choice(['ValueError', 'KeyError'])}({self.number(inner)})")
        returned = self.has("exceptions") and end > 0.9
        dump += [f"return {self.number(inner)} % 7"] if returned else []
        lines += ["", "", f"def main({'config: Config' if config else ''}) -> None:", *indent([*body, *dump]), "", ""]
        call = f"main({'load_config()' if config else ''})"
        lines += ['if __name__ == "__main__":', f"    {f'raise SystemExit({call})' if returned else call}"]
        return "\n".join(lines) + "\n"

    def top_statement(self, scope: Scope) -> list[str]:
        """A statement at a module's top."""
        forms: list[Form] = [
            self.assign,
            self.constant,
            self.show,
            self.top_function,
            self.top_function,
            self.top_function,
        ]
        if self.has("classes"):
            forms += [self.top(self.class_, "class")] * 2
        if self.has("decorators"):
            forms += [self.top(self.decorator, "decorator"), self.top(self.class_decorator, "class_decorator")]
        if self.has("enums"):
            forms += [self.top(self.enumeration, "enum")]
        if self.has("exceptions"):
            forms += [self.top(self.exception, "exception"), self.try_]
        if self.has("dataclasses") and not self.future:
            forms += [self.top(self.dataclass, "dataclass")]
        if self.has("external"):
            forms += [self.external_import]
        if self.has("module_loops"):
            forms += [self.condition, self.loop, self.while_, self.with_, self.match, self.walrus]
        if self.has("statements"):
            forms += [self.unpack, self.augmented, self.delete, self.annotated]
        if self.has("globals"):
            forms += [self.global_]
        if self.has("lambdas"):
            forms += [self.named_lambda]
        if self.has("imports_inside"):
            forms += [self.import_inside]
        return self.rng.choice(forms)(scope) or [f"# {self.fresh()}"]

    def top(self, write: Definition, kind: str) -> Form:
        """A definition under a name of the pool that is free for it."""

        def form(scope: Scope) -> list[str]:
            name = self.target(scope, Thing(kind, ()))
            return ["", "", *write(name, scope), "", ""] if name is not None else []

        return form

    def constant(self, scope: Scope) -> list[str]:
        return [f"{line}  # constant" for line in self.assign(scope)]

    def top_function(self, scope: Scope) -> list[str]:
        name = self.target(scope, Thing("call", ()))
        return ["", "", *self.function(name, scope, 2), "", ""] if name is not None else []

    def named_lambda(self, scope: Scope) -> list[str]:
        name, parameter = self.target(scope, Thing("call", ())), self.pick()
        if name is None:
            return []
        inner = self.inside(scope, {parameter})
        inner.frame.planned = frozenset({parameter})
        inner = scope.function(inner.frame)
        inner.names[parameter] = Bound(NUMBER, inner.frame)
        inner.names.pop(name, None)
        body = self.number(inner)
        scope.bind(name, Thing("call", ("{0}({n})",), 1 + inner.frame.cost))
        return [f"{name} = lambda {parameter}: {body}"]

    # Imports

    def relative(self, target: str) -> str:
        """A module's name as it is written in a relative import of the module that is being written."""
        package, parts = self.here.split(".")[:-1], target.split(".")
        common = 0
        while common < min(len(package), len(parts) - 1) and package[common] == parts[common]:
            common += 1
        return "." * (len(package) - common + 1) + ".".join(parts[common:])

    def absolute_or_relative(self, target: str) -> str:
        return self.relative(target) if self.rng.random() < 0.6 else target

    def import_module(self, scope: Scope) -> list[str]:
        """An import at a module's top, of an earlier module."""
        if not self.modules:
            return []
        number = self.rng.randrange(len(self.modules))
        lines = self.import_from(scope, number, star="stars" in self.features)
        if lines:
            self.imported |= self.modules[number].imported | {number}
        return lines

    def import_inside(self, scope: Scope) -> list[str]:
        """An import in a function, class or block, of a module that has run already."""
        return self.import_from(scope, self.rng.choice(sorted(self.imported)), star=False) if self.imported else []

    def import_from(self, scope: Scope, number: int, star: bool) -> list[str]:
        module = self.modules[number]
        package, _, stem = module.name.rpartition(".")
        forms = [self.import_name] * 4 + [self.import_as, self.import_dotted, self.import_submodule]
        star = star and not (module.perhaps and self.rng.random() < 0.99)  # refused where such a name needs a copy
        forms += [self.import_star] * 2 if star and scope.frame.kind == "module" else []
        return self.rng.choice(forms)(scope, module, package, stem)

    def import_name(self, scope: Scope, module: Module, package: str, stem: str) -> list[str]:
        names = [name for name, thing in sorted(module.things.items()) if thing.kind != "module" and name != "pkg"]
        if not names:
            return []
        name = self.rng.choice(names)
        thing = module.things[name]
        source = self.absolute_or_relative(module.name)
        if scope.can_bind(name, thing) and self.rng.random() < 0.5:
            scope.bind(name, thing)
            return [f"from {source} import {name}"]
        bound = self.target(scope, thing)
        if bound is None:
            return []
        scope.bind(bound, thing)
        return [f"from {source} import {name} as {bound}"]

    def import_as(self, scope: Scope, module: Module, package: str, stem: str) -> list[str]:
        bound = self.module_target(scope, module)
        if bound is None:
            return []
        scope.bind(bound, module.thing())
        return [f"import {module.name} as {bound}"]

    def import_submodule(self, scope: Scope, module: Module, package: str, stem: str) -> list[str]:
        """`from package import module`."""
        bound = self.module_target(scope, module)
        if bound is None:
            return []
        place = self.relative(f"{package}.x").rpartition("x")[0]
        source = place.rstrip(".") if place.strip(".") else "." * len(place)
        source = source if self.rng.random() < 0.6 else package
        free = stem not in scope.frame.modules | scope.frame.others
        if scope.frame.kind == "module" and free and self.rng.random() < 0.5:
            scope.bind(stem, module.thing())
            return [f"from {source} import {stem}"]
        scope.bind(bound, module.thing())
        return [f"from {source} import {stem} as {bound}"]

    def module_target(self, scope: Scope, module: Module) -> str | None:
        """A name for a module: one that nothing else in the body is bound to."""
        names = [
            name
            for name in sorted(scope.frame.planned)
            if name not in scope.frame.modules | scope.frame.others | scope.frame.captured
            if scope.frame.kind != "class"
        ]
        return self.rng.choice(names) if names else None

    def import_dotted(self, scope: Scope, module: Module, package: str, stem: str) -> list[str]:
        """`import a.b.c`, used by its whole path."""
        if scope.frame.kind != "module" or scope.nested:
            return []
        path = module.name.removeprefix("pkg")
        uses = tuple(use.replace("{0}", f"{{0}}{path}") for use in module.thing().uses)
        if not uses:
            return []
        old = scope.names.get("pkg")
        thing = Thing("module", uses + (old.thing.uses if old else ()), module.thing().cost)
        scope.bind("pkg", thing)
        return [f"import {module.name}"]

    def import_star(self, scope: Scope, module: Module, package: str, stem: str) -> list[str]:
        taken = {name: module.things[name] for name in module.exports}
        if not all(scope.can_bind(name, thing) for name, thing in taken.items()) or "pkg" in taken:
            return []
        stems = {m.name.removeprefix(f"{module.name}.").split(".")[0] for m in self.modules if m is not module}
        if stems & (scope.frame.modules | scope.frame.others):
            return []  # a star import of a package takes its modules as well
        for name, thing in taken.items():
            scope.bind(name, thing)
        return [f"from {self.absolute_or_relative(module.name)} import *"]

"""Random packages for the builder: colliding names, every kind of import, nested scopes, knobs.

    files = Programs(random.Random(1)).package()      # {"pkg/train.py": "...", ...}

They run without errors by design. Names come from a small pool, so that modules, parameters, locals, class members and
imports collide all the time. Each function and class prints or returns numbers made from everything that is visible;
what a program prints tells whether a name went astray.
"""

from __future__ import annotations

import random
import textwrap

POOL = ("a", "b", "c", "norm", "max", "m0", "m1", "Block")
KNOBS = {"depth": "int", "flag": "bool", "kind": "str", "rate": "float"}
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


class Scope:
    """What can be read where code is being written: name -> "int", "call" (a function of one number) or "module:N"."""

    def __init__(self, names: dict[str, str], config: bool = False) -> None:
        self.names = dict(names)
        self.config = config


class Programs:
    """Writes one random package."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.values = {
            "depth": rng.randrange(4),
            "flag": rng.random() < 0.5,
            "kind": rng.choice(["nki", "torch", "it's {x}"]),
            "rate": rng.choice([0.5, -1.5, 1e-06]),
        }
        self.modules: list[dict[str, str]] = []  # what each module ends with
        self.number = 0

    def package(self) -> dict[str, str]:
        """All files, by path."""
        files = {"pkg/__init__.py": "", "pkg/config.py": CONFIG.format(**self.values)}
        count = self.rng.randint(1, 4)
        for i in range(count):
            files[f"pkg/m{i}.py"] = self.module(i)
        files["pkg/train.py"] = self.module(count, entry=True)
        return files

    def fresh(self) -> int:
        """A number that no other place prints."""
        self.number += 1
        return self.number

    # Modules

    def module(self, index: int, entry: bool = False) -> str:
        scope = Scope({})
        self.imported: set[int] = set()  # modules that run before this one: a late import of another may be refused
        lines = ["from pkg.config import Config, load_config", ""]
        if self.rng.random() < 0.3:
            lines.insert(0, "from __future__ import annotations")
        for _ in range(self.rng.randint(1, 3) if index else 0):
            of = self.rng.randrange(index)
            written = self.imports(of, scope)
            self.imported.update([of] if written else [])
            lines += written
        for _ in range(self.rng.randint(2, 5)):
            lines += self.top_statement(scope)
        if entry:
            lines += [
                "",
                "def main(config: Config) -> None:",
                *self.indent(self.body(Scope(scope.names, True), 2, show=True)),
                "",
            ]
            lines += ['if __name__ == "__main__":', "    main(load_config())"]
        self.modules.append(dict(scope.names))
        return "\n".join(lines) + "\n"

    def imports(self, of: int, scope: Scope) -> list[str]:
        """One import statement from an earlier module, or none where that would be refused."""
        names = {name: kind for name, kind in self.modules[of].items() if not kind.startswith("module")}
        kind = self.rng.randrange(5)
        bound = self.rng.choice(POOL)
        if any(scope.names.get(n, "").startswith("module") for n in (bound, f"m{of}")):
            return []  # a module's name is bound once; rebinding it is refused
        if kind == 0 and f"m{of}" not in scope.names:
            scope.names[f"m{of}"] = f"module:{of}"
            return [f"from . import m{of}"]
        if kind == 1 and bound not in scope.names:
            scope.names[bound] = f"module:{of}"
            return [f"import pkg.m{of} as {bound}"]
        if kind == 2 and not any(k.startswith("module") for k in (*scope.names.values(), *self.modules[of].values())):
            scope.names.update({name: k for name, k in self.modules[of].items() if not name.startswith("_")})
            return [f"from .m{of} import *"]
        if not names:
            return []
        name = self.rng.choice(sorted(names))
        if kind == 3:
            scope.names[name] = names[name]
            return [f"from pkg.m{of} import {name}"]
        scope.names[bound] = names[name]
        return [f"from .m{of} import {name} as {bound}"]

    def top_statement(self, scope: Scope) -> list[str]:
        kind = self.rng.randrange(8)
        name = self.rng.choice([n for n in POOL if not scope.names.get(n, "").startswith("module")])
        if kind <= 1:
            lines = [f"{name} = {self.number_from(scope)}  # constant"]
            scope.names[name] = "int"
            return lines
        if kind <= 4:
            lines = ["", *self.function(name, scope), ""]
            scope.names[name] = "call"
            return lines
        if kind == 5:
            lines = ["", *self.class_(name, scope), ""]
            scope.names[name] = "call"
            return lines
        if kind == 6:
            return [f"print({self.fresh()}, {self.number_from(scope)})"]
        return [f"if {self.number_from(scope)} > 3:", f"    print({self.fresh()})"]

    # Definitions

    def function(self, name: str, scope: Scope) -> list[str]:
        """A function of one number."""
        inner = Scope(scope.names)
        parameter = self.rng.choice(POOL)
        inner.names[name] = "recursive"
        inner.names[parameter] = "int"
        default = f", *, {self.other(parameter)}={self.number_from(scope)}" if self.rng.random() < 0.3 else ""
        if default:
            inner.names[default[5:].split("=")[0]] = "int"
        note = ": int" if self.rng.random() < 0.3 else ""
        return [f"def {name}({parameter}{note}{default}):", *self.indent(self.body(inner, 2))]

    def other(self, name: str) -> str:
        return self.rng.choice([n for n in POOL if n != name])

    def class_(self, name: str, scope: Scope) -> list[str]:
        """A class whose call with one number gives something that adds like a number."""
        lines = [f"class {name}(int):"]
        readable = Scope(scope.names)
        for _ in range(self.rng.randint(0, 2)):
            member = self.rng.choice(POOL)
            lines.append(f"    {member} = {self.number_from(readable, 0)}")  # functions do not see class members
            readable.names[member] = "int"
        inner = Scope(scope.names)
        inner.names[name] = "recursive"
        method = self.rng.choice(POOL)
        inner.names["self"] = "int"
        lines += [f"    def {method}(self):", *self.indent(self.indent(self.body(inner, 1)))]
        return lines

    def body(self, scope: Scope, depth: int, show: bool = False) -> list[str]:
        """Statements of a function, ending in a return or (show) a print."""
        lines: list[str] = []
        for _ in range(self.rng.randint(0, 3)):
            lines += self.statement(scope, depth)
        if show:
            return [*lines, f"print({self.fresh()}, {self.number_from(scope)}, {self.number_from(scope)})"]
        return [*lines, f"return {self.number_from(scope)}"]

    def statement(self, scope: Scope, depth: int) -> list[str]:
        kind = self.rng.randrange(9)
        local = f"l_{self.rng.choice(POOL)}" if self.rng.random() < 0.5 else self.rng.choice(POOL)
        unread = local not in scope.names or (scope.names[local] == "int" and local.startswith("l_"))
        if kind <= 1 and unread:
            lines = [f"{local} = {self.number_from(scope)}"]
            scope.names[local] = "int"
            return lines
        if kind == 2 and depth and scope.config and self.rng.random() < 0.3:
            return self.match(scope, depth)
        if kind == 2 and depth:
            return self.condition(scope, depth)
        if kind == 3:
            return [f"print({self.fresh()}, {self.number_from(scope)})  # says"]
        if kind == 4 and depth and unread:
            lines = self.function(local, scope)
            scope.names[local] = "call"
            return lines
        if kind == 5 and self.imported:
            return self.local_import(scope)
        if kind == 6 and unread:
            lines = [f"for {local} in range({self.fresh() % 3}):", f"    print({self.number_from(scope)})"]
            return lines if local not in scope.names else []
        if kind == 7 and unread and local not in scope.names:
            scope.names[local] = "int"
            return [f"print(({local} := {self.number_from(Scope({}))}))"]
        return [f"# {self.fresh()}"]

    def condition(self, scope: Scope, depth: int) -> list[str]:
        """An `if`, with a chance of `elif` and `else`; each test may depend on knobs."""
        lines: list[str] = []
        words = ["if", *["elif"] * self.rng.randrange(3)]
        for word in words:
            inner = Scope(scope.names, scope.config)
            lines += [f"{word} {self.test(scope)}:", *self.indent(self.block(inner, depth - 1))]
        if self.rng.random() < 0.5:
            lines += ["else:", *self.indent(self.block(Scope(scope.names, scope.config), depth - 1))]
        return lines

    def match(self, scope: Scope, depth: int) -> list[str]:
        """A `match` over a knob."""
        lines = [f"match {self.rng.choice(['config.kind', 'config.depth', 'config.flag'])}:"]
        for pattern in [*self.rng.sample(['"nki"', "0 | 1", "2", "True", "None", '"torch" | "x"'], 3), "_"]:
            lines += [f"    case {pattern}:"]
            lines += self.indent(self.indent(self.block(Scope(scope.names, True), depth - 1)))
        return lines

    def block(self, scope: Scope, depth: int) -> list[str]:
        """Statements that bind nothing the code behind the block can read."""
        lines = [f"# {self.fresh()}", f"print({self.fresh()}, {self.number_from(scope)})"]
        if self.rng.random() < 0.15 and scope.config is False:
            return [*lines, f"return {self.number_from(scope)}"]
        return lines + (self.condition(scope, depth) if depth > 0 and self.rng.random() < 0.4 else [])

    def test(self, scope: Scope) -> str:
        choices = [f"{self.number_from(scope)} > {self.fresh()}"]
        if scope.config:
            choices += [
                "config.flag",
                'config.kind == "nki"',
                "config.depth > 1",
                "not config.flag",
                f"config.flag and {choices[0]}",
                f"{choices[0]} or config.flag",
                f"config.depth < 2 or {choices[0]} or config.flag",
                '0 < config.depth <= 2 and config.kind != "torch"',
            ]
        return self.rng.choice(choices)

    def local_import(self, scope: Scope) -> list[str]:
        of = self.rng.choice(sorted(self.imported))
        names = sorted(name for name, kind in self.modules[of].items() if kind in ("int", "call"))
        if not names:
            return []
        name = self.rng.choice(names)
        bound = f"l_{self.rng.choice(POOL)}"
        if bound in scope.names:
            return []
        scope.names[bound] = self.modules[of][name]
        return [f"from .m{of} import {name} as {bound}"]

    # Expressions

    def number_from(self, scope: Scope, depth: int = 2) -> str:
        """An expression that gives a number, read from what is visible."""
        options = [str(self.fresh())]
        readable = [(name, kind) for name, kind in sorted(scope.names.items()) if kind != "recursive"]
        for name, kind in self.rng.sample(readable, min(3, len(readable))):
            options += self.read(name, kind, depth, scope)
        if scope.config:
            options += [
                "config.depth",
                "(config.double + 1)",
                "(1 if config.flag else 2)",
                "len(f'{config.kind}{config.depth!r:>4}|{config.flag}')",
                "config.depth ** 2",
                "int(config.rate ** 2 * 10)",
                """{"nki": 5, "torch": config.depth, "it's {x}": -1}[config.kind]""",
                "(3, config.depth, 4, 5)[config.depth]",
            ]
        if depth and self.rng.random() < 0.5:
            name = self.rng.choice(POOL)
            inner = Scope({**scope.names, name: "int"}, scope.config)
            form = self.rng.randrange(4)
            if form == 0:
                return f"sum([{self.number_from(inner, depth - 1)} for {name} in range(2)])"
            if form == 1:
                return f"(lambda {name}: {self.number_from(inner, depth - 1)})({self.number_from(scope, depth - 1)})"
            if form == 2:
                return f"({self.rng.choice(options)} + {self.number_from(scope, depth - 1)})"
            plain = Scope(scope.names)
            return f'len(f"{{{self.number_from(plain, 0)}:>3}} text")'
        return self.rng.choice(options)

    def read(self, name: str, kind: str, depth: int, scope: Scope) -> list[str]:
        if kind == "int":
            return [name]
        if kind == "call" and depth:
            return [f"{name}({self.fresh()})"]
        if kind.startswith("module:"):
            of = self.modules[int(kind[7:])]
            return [f"{name}.{n}" for n, k in sorted(of.items()) if k == "int"][:2] + [
                f"{name}.{n}({self.fresh()})" for n, k in sorted(of.items()) if k == "call" and depth
            ][:2]
        return []

    def indent(self, lines: list[str]) -> list[str]:
        return textwrap.indent("\n".join(lines), "    ").split("\n")

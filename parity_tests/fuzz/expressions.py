"""Expressions that give a number, written from everything in sight."""

from __future__ import annotations

import random
from collections.abc import Callable

from parity_tests.fuzz.names import CEILING, POOL, Scope, Thing

# What a program is made of; each program has some of them, so that they meet in many ways.
FEATURES = frozenset(
    {
        "async",
        "builtins",
        "classes",
        "comprehensions",
        "config",
        "cycles",
        "dataclasses",
        "decorators",
        "enums",
        "exceptions",
        "external",
        "formatted",
        "future",
        "generators",
        "globals",
        "imports_inside",
        "lambdas",
        "match",
        "module_loops",
        "nonlocals",
        "packages",
        "reexports",
        "signatures",
        "stars",
        "statements",
        "submodules",
        "typing",
        "walrus",
    }
)
CONFIG = (
    "config.depth",
    "(config.double + 1)",
    "(1 if config.flag else 2)",
    "len_of(f'{config.kind}{config.depth!r:>4}|{config.flag}')",
    "config.depth ** 2",
    "int(config.rate ** 2 * 10)",
    """{"nki": 5, "torch": config.depth, "it's {x}": -1}[config.kind]""",
    "(3, config.depth, 4, 5)[config.depth]",
    "sum(i * config.depth for i in range(config.depth))",
    "(config.flag and config.depth)",
    "(config.depth or 7)",
    "int(config.kind in ('nki', 'x'))",
    "int(not config.flag)",
    "int(config.flag is True)",
    "(lambda: config.depth)()",
    "int(f'{config.depth:>{config.depth + 1}}')",
    "int(config.depth == 2 or config.flag)",
)
TESTS = (
    "config.flag",
    'config.kind == "nki"',
    "config.depth > 1",
    "not config.flag",
    "config.flag and {0}",
    "{0} or config.flag",
    "config.depth < 2 or {0} or config.flag",
    '0 < config.depth <= 2 and config.kind != "torch"',
    "config.depth in (1, 2)",
    "config.rate < 0 or not {0}",
    "(config.depth if config.flag else {0})",
)


class Expressions:
    """Writes expressions; the state of one program's making."""

    def __init__(self, rng: random.Random, features: frozenset[str]) -> None:
        self.rng = rng
        self.features = features
        self.count = 0
        self.changers: list[tuple[str, str]] = []  # functions of the module that bind a name of it, and the names
        self.deferred = 0  # functions around the code that is being written
        builtin = [name for name in ("max", "len") if rng.random() < 0.04]
        self.pool = [name for name in POOL if name not in ("max", "len")] + builtin

    def has(self, feature: str, chance: float = 1.0) -> bool:
        """Whether to use a feature here."""
        return feature in self.features and self.rng.random() < chance

    def fresh(self) -> int:
        """A number that stands nowhere else."""
        self.count += 1
        return self.count

    def pick(self, *without: str) -> str:
        """A name of the pool."""
        return self.rng.choice([name for name in self.pool if name not in without])

    def use(self, scope: Scope, name: str, thing: Thing) -> str:
        """A number made from a thing."""
        template = self.rng.choice(thing.uses)
        return template.format(scope.read(name), n=self.fresh())

    def readable(self, scope: Scope, *kinds: str) -> list[tuple[str, Thing]]:
        """Things of some kinds whose use does not take long."""
        room = CEILING - (scope.frame.cost if scope.frame.kind == "function" else 1)
        return [(name, thing) for name, thing in scope.things(*kinds) if thing.uses and thing.cost <= room]

    def number(self, scope: Scope, depth: int = 2) -> str:
        """An expression of a number."""
        forms: list[Callable[[Scope, int], str | None]] = [self.plain] * 5
        if depth > 0:
            forms += [self.added, self.chosen]
            forms += [self.comprehension] * 2 if self.has("comprehensions") else []
            forms += [self.lambda_] * 2 if self.has("lambdas") else []
            forms += [self.formatted, self.labelled] if self.has("formatted") else []
            forms += [self.builtin] if self.has("builtins") else []
        written = self.rng.choice(forms)(scope, depth - 1)
        return written if written is not None else self.plain(scope, 0)

    def plain(self, scope: Scope, depth: int) -> str:
        """A name in sight, or a literal."""
        if scope.config and self.rng.random() < 0.3:
            text = self.rng.choice(CONFIG)
            return text.replace("len_of", "len") if scope.builtin("len") or "len_of" not in text else "config.depth"
        found = self.readable(scope, "int", "call", "class", "exception", "enum", "module")
        if not found or self.rng.random() < 0.15:
            return str(self.fresh())
        return self.use(scope, *self.rng.choice(found))

    def added(self, scope: Scope, depth: int) -> str:
        one, other = self.number(scope, depth), self.number(scope, depth)
        return f"({one} {self.rng.choice(['+', '-', '+', '^'])} {other})"

    def chosen(self, scope: Scope, depth: int) -> str:
        test = self.test(scope, depth)
        return f"({self.number(scope, depth)} if {test} else {self.number(scope, depth)})"

    def test(self, scope: Scope, depth: int = 1) -> str:
        """A condition; knobs may decide it."""
        plain = f"{self.number(scope, depth)} > {self.fresh()}"
        if self.rng.random() < 0.2:
            plain = f"{self.fresh()} < {self.number(scope, depth)} <= {self.fresh() * 9}"
        if scope.config and self.rng.random() < 0.7:
            return self.rng.choice(TESTS).format(plain)
        return plain

    def comprehension(self, scope: Scope, depth: int) -> str:
        name, other = self.pick(), self.pick()
        inner = scope.comprehension(name)
        first = f"range({self.number(scope, 0)} % 3)"
        condition = f" if {self.test(inner, 0)}" if self.rng.random() < 0.3 else ""
        form = self.rng.randrange(5)
        if form == 0 and other != name:
            both = scope.comprehension(name, other)
            second = f"range({self.number(inner, 0)} % 2)"
            return f"sum({self.number(both, depth)} for {name} in {first}{condition} for {other} in {second})"
        if form == 1:
            pair = f"{self.number(inner, 0)}: {self.number(inner, depth)}"
            return f"sum({{{pair} for {name} in {first}{condition}}}.values())"
        if form == 2:
            return f"sum({{{self.number(inner, depth)} for {name} in {first}{condition}}})"
        if form == 3:
            return f"sum([{self.number(inner, depth)} for {name} in {first}{condition}])"
        return f"sum({self.number(inner, depth)} for {name} in {first}{condition})"

    def lambda_(self, scope: Scope, depth: int) -> str:
        name, other = self.pick(), self.pick()
        names = {name, other} if self.rng.random() < 0.4 else {name}
        default = self.number(scope, 0)
        inner = scope.comprehension(*names)
        body, argument = self.number(inner, depth), self.number(scope, depth)
        if len(names) == 2:
            star = self.rng.choice(["", "*, "])
            return f"(lambda {name}, {star}{other}={default}: {body})({argument})"
        return f"(lambda {name}{self.rng.choice(['', ', /'])}: {body})({argument})"

    def formatted(self, scope: Scope, depth: int) -> str | None:
        if not scope.builtin("len"):
            return None
        value = self.number(scope, 0)
        if '"' in value or "'" in value or "\\" in value or "{" in value:
            return None
        form = self.rng.randrange(5)
        if form == 0:
            return f'len(f"{{{value}:>{{3 + 1}}}} text {{{{}}}}")'
        if form == 1:
            return f"len(f'''{{({value})!r}} it''' '{{x}}' f'{{ {value} :,d}}')"
        if form == 2:
            return f"int(f'{{{value}}}')"
        if form == 3:
            return f"len(rf'{{{value}:d}}\\n' \"a\" f\"{{'it'}}{{{value}!s:>9}}\")"
        return f"len(f\"{{f'{{{value}}}' + str({self.fresh()})}}\")"

    def labelled(self, scope: Scope, depth: int) -> str | None:
        """The text of an expression is part of the result; only of local names, whose own name is sure to stay."""
        names = [n for n, b in scope.names.items() if b.thing.kind == "int" and b.frame.kind == "function"]
        if not names or not scope.builtin("len") or scope.frame.kind != "function":
            return None
        return f"len(f'{{{scope.read(self.rng.choice(sorted(names)))} = }}')"

    def builtin(self, scope: Scope, depth: int) -> str | None:
        if scope.builtin("max"):
            return f"max({self.number(scope, depth)}, {self.fresh()})"
        if scope.builtin("len"):
            return f"len(({self.number(scope, depth)}, {self.fresh()}))"
        return f"abs({self.number(scope, depth)})"

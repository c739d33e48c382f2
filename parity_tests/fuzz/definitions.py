"""Definitions: functions of every signature, classes of every kind, decorators."""

from __future__ import annotations

from parity_tests.fuzz.names import EXCEPTION, NUMBER, Frame, Scope, Thing
from parity_tests.fuzz.statements import Statements, indent

# parameters (of names from the pool), and how a function that has them is called
SIGNATURES = (
    ("{0}, /", "{{0}}({{n}})"),
    ("{0}, *, {1}", "{{0}}({{n}}, {1}={{n}})"),
    ("{0}, {1}={d}", "{{0}}({1}={{n}}, {0}={{n}})"),
    ("{0}={d}, /, *, {1}={e}", "{{0}}({{n}})"),
    ("{0}, {1}={d}, *rest_{2}, {3}={e}, **_", "{{0}}({{n}}, {{n}}, {{n}}, {3}={{n}}, extra={{n}})"),
    ("*, {0}={d}", "{{0}}(**{{{{'{0}': {{n}}}}}})"),
    ("{0}, {1}=lambda {2}: {d}", "{{0}}({{n}})"),
)
METHODS = ("value", "total")


class Definitions(Statements):
    """Writes definitions."""

    def inside(self, scope: Scope, numbers: set[str], *without: str) -> Scope:
        """The start of a function's body, of which some parameters are numbers."""
        frame = Frame("function", self.plan(*without) | numbers, parent=scope.frame)
        inner = scope.function(frame)
        for name in sorted(numbers):
            inner.bind(name, NUMBER)
        return inner

    def function(self, name: str, scope: Scope, depth: int) -> list[str]:
        """A function whose call gives a number."""
        decorators, extra = self.decorators(scope)
        signature, use, numbers = self.signature(scope)
        inner = self.inside(scope, numbers)
        if scope.frame.kind != "class":
            inner.names.pop(name, None)  # it would call itself without end
            inner.frame.cost += extra
        self.deferred += 1
        kind = self.rng.random()
        note = f" -> {self.annotation(scope)}" if self.has("typing", 0.3) else ""
        if self.has("generators") and kind < 0.15:
            lines = self.generator(inner)
            use = f"sum({use})"
            decorators = []
        elif self.has("async") and kind < 0.3:
            lines = self.body(inner, depth)
            decorators = []
            use = f"drive({use})"
        else:
            lines = self.body(inner, depth)
        self.deferred -= 1
        word = "async def" if use.startswith("drive") else "def"
        scope.bind(name, Thing("call", (use,), 1 + inner.frame.cost))
        return [*decorators, f"{word} {name}({signature}){note}:", *indent(lines)]

    def signature(self, scope: Scope) -> tuple[str, str, set[str]]:
        """Parameters, how a call looks, and which of them hold numbers."""
        parameter = self.pick()
        note = f": {self.annotation(scope)}" if self.has("typing", 0.3) else ""
        if not self.has("signatures", 0.6):
            return f"{parameter}{note}", "{0}({n})", {parameter}
        names = self.rng.sample(["a", "b", "c", "norm", "max", "x", "_a"], 4)
        form, use = self.rng.choice(SIGNATURES)
        first, second = self.number(scope, 1), self.number(scope, 1)
        text = form.format(*names, d=first, e=second)
        numbers = {n for i, n in enumerate(names) if f"{{{i}}}" in form and "lambda" not in form and i != 2}
        return text, use.format(*names), numbers or {names[0]}

    def generator(self, scope: Scope) -> list[str]:
        lines = [*self.statement(scope, 0), f"yield {self.number(scope)}"]
        if self.rng.random() < 0.5:
            variable = self.pick()
            inner = scope.comprehension(variable)
            lines.append(f"yield from ({self.number(inner, 1)} for {variable} in range(2))")
        return lines

    def decorators(self, scope: Scope) -> tuple[list[str], int]:
        """Decorators in sight, and what they cost."""
        lines, cost = [], 0
        for _ in range(self.rng.randrange(3) if "decorators" in self.features else 0):
            found = [(n, t) for n, t in scope.things("decorator", "factory") if t.cost < 20]
            if found and cost < 20:
                name, thing = self.rng.choice(found)
                argument = f"({self.number(scope, 1)})" if thing.kind == "factory" else ""
                lines.append(f"@{scope.read(name)}{argument}")
                cost += thing.cost
        return lines, cost

    def decorator(self, name: str, scope: Scope) -> list[str]:
        """A decorator of functions, plain or with an argument."""
        factory, function = self.rng.random() < 0.5, self.pick(name)
        parameter = self.pick(name, function)
        outer = self.inside(scope, {parameter} if factory else set(), function, "inner", "apply")
        outer.names.pop(name, None)
        middle_frame = Frame("function", frozenset({function, "inner"}), parent=outer.frame)
        middle = outer.function(middle_frame)
        inner = self.inside(middle, set(), function, "inner")
        inner.names.pop(name, None)
        self.deferred += 1
        result = self.number(inner)
        self.deferred -= 1
        lines = [
            f"@functools.wraps({function})",
            "def inner(*args, **options):",
            f"    return {function}(*args, **options) + {result}",
            "return inner",
        ]
        if factory:
            lines = [f"def apply({function}):", *indent(lines), "return apply"]
        scope.bind(name, Thing("factory" if factory else "decorator", (), 1 + inner.frame.cost))
        return [f"def {name}({parameter if factory else function}):", *indent(lines)]

    # Classes

    def class_(self, name: str, scope: Scope) -> list[str]:
        """A class with members, methods and a private name; `Name(n).value()` and `Name.total` are numbers."""
        bases = [n for n, _ in scope.things("class") if n != name] if self.rng.random() < 0.3 else []
        base = scope.read(self.rng.choice(bases)) if bases else ""
        members = self.plan(name, some=5)
        frame = Frame("class", members, parent=scope.frame)
        body = scope.class_body(frame)
        lines = ['"""A class."""'] if self.rng.random() < 0.2 else []
        slots = not base and self.rng.random() < 0.3
        lines += ['__slots__ = ("held", "__hidden")'] if slots else []
        uses = ["{0}({n}).value()", "{0}.total"]
        for member in sorted(sorted(members), key=lambda _: self.rng.random()):
            text, more = self.member(member, body)
            lines += text
            uses += more
        lines += [f"total = {self.number(body)}"]
        self.deferred += 1
        init = self.inside(body, {"held"})
        init.names.pop(name, None)
        init.frame.cost = 10
        start = [f"super().__init__({self.number(init, 1)})"] if base else []
        start += ["self.held = held", f"self.__hidden = {self.number(init, 1)}"]
        method = self.inside(body, {"more"})
        method.names.pop(name, None)
        method.frame.cost = 10
        inner = [line for _ in range(2) for line in self.statement(method, 0)]
        parent = " + super().value()" if base else ""
        shown = f"return self.held + self.__hidden + {self.number(method)}{parent}"
        self.deferred -= 1
        lines += ["", "def __init__(self, held):", *indent(start)]
        lines += ["", "def value(self, more=1):", *indent([*inner, shown])]
        cost = 2 + init.frame.cost + method.frame.cost + frame.cost
        decorators, extra = self.class_decorators(scope)
        scope.bind(name, Thing("class", tuple(uses), cost + extra))
        return [*decorators, f"class {name}{f'({base})' if base else ''}:", *indent(lines)]

    def class_decorators(self, scope: Scope) -> tuple[list[str], int]:
        found = scope.things("class_decorator") if "decorators" in self.features else []
        if not found or self.rng.random() < 0.5:
            return [], 0
        name, thing = self.rng.choice(found)
        return [f"@{scope.read(name)}"], thing.cost

    def class_decorator(self, name: str, scope: Scope) -> list[str]:
        parameter = self.pick(name)
        inner = self.inside(scope, set(), parameter)
        inner.frame.planned |= {parameter}
        inner.names.pop(parameter, None)
        inner.names.pop(name, None)
        self.deferred += 1
        value = self.number(inner)
        self.deferred -= 1
        scope.bind(name, Thing("class_decorator", (), 1 + inner.frame.cost))
        return [f"def {name}({parameter}):", f"    {parameter}.total = {value}", f"    return {parameter}"]

    def member(self, name: str, body: Scope) -> tuple[list[str], list[str]]:
        """A member of a class, and how it can be used from outside."""
        kind = self.rng.randrange(7)
        if kind == 0:
            value = self.number(body)
            body.bind(name, NUMBER)
            return [f"{name} = {value}"], [f"{{0}}.{name}"]
        if kind == 1:
            value, note = self.number(body), self.annotation(body)
            body.bind(name, NUMBER)
            return [f"{name}: {note} = {value}"], [f"{{0}}({{n}}).{name}"]
        if kind == 2 and self.deferred < 2:
            inner = Frame("class", frozenset({name}), parent=body.frame)
            nested = body.class_body(inner)
            value = self.number(nested)
            body.bind(name, Thing("nested", (f"{{0}}.{name}",)))
            return [f"class {name}:", f"    {name} = {value}"], [f"{{0}}.{name}.{name}"]
        if kind == 3 and self.has("imports_inside"):
            lines = self.import_inside(body)
            return (lines, []) if lines else (["pass"], [])
        around = body.module.names.get(name)
        if kind == 4 and around is not None and around.thing.kind == "int" and self.rng.random() < 0.7:
            # Bound on one path only: read behind it, the name is the member or the module's variable.
            value, test = self.number(body), self.test(body)
            body.names[name] = around
            around.frame.captured.add(name)
            seen = f"{name}_seen"
            return [f"if {test}:", f"    {name} = {value}", f"{seen} = {name}"], [f"{{0}}.{seen}"]
        if kind == 4:
            block = body.block()
            value = self.number(block)
            lines = [f"if {self.test(body)}:", f"    {name} = {value}", "else:", f"    {name} = {self.number(body)}"]
            body.bind(name, NUMBER)
            return lines, [f"{{0}}.{name}"]
        self.deferred += 1
        inside = self.inside(body, set())
        inside.frame.cost = 10
        result = self.body(inside, 0, 2)
        self.deferred -= 1
        body.frame.cost += inside.frame.cost
        form = self.rng.randrange(4)
        body.bind(name, Thing("method", ()))
        if form == 0:
            return ["", "@property", f"def {name}(self):", *indent(result)], [f"{{0}}({{n}}).{name}"]
        if form == 1:
            return ["", "@staticmethod", f"def {name}():", *indent(result)], [f"{{0}}.{name}()"]
        if form == 2:
            return ["", "@classmethod", f"def {name}(cls):", *indent(result)], [f"{{0}}.{name}()"]
        return ["", f"def {name}(self):", *indent(result)], [f"{{0}}({{n}}).{name}()"]

    def enumeration(self, name: str, scope: Scope) -> list[str]:
        one, other = self.number(scope), self.number(scope)
        base = self.rng.choice(["enum.Enum", "enum.IntEnum"])
        uses = ("{0}.LOW.value", "{0}['HIGH'].value", "sum(member.value for member in {0})")
        scope.bind(name, Thing("enum", uses))
        return [f"class {name}({base}):", f"    LOW = {one}", f"    HIGH = {other}"]

    def exception(self, name: str, scope: Scope) -> list[str]:
        bases = [n for n, _ in scope.things("exception") if n != name]
        base = scope.read(self.rng.choice(bases)) if bases else self.rng.choice(["Exception", "ValueError"])
        scope.bind(name, EXCEPTION)
        return [f"class {name}({base}):", f"    {self.rng.choice(['pass', '...'])}"]

    def dataclass(self, name: str, scope: Scope) -> list[str]:
        """A dataclass or a named tuple."""
        field, other = self.rng.sample(["a", "b", "norm", "max", "x"], 2)
        default = self.number(scope)
        factory = self.number(scope.comprehension())
        uses = [f"{{0}}({{n}}).{field}", f"{{0}}({{n}}, {other}={{n}}).{other}"]
        if self.rng.random() < 0.3:
            lines = [f"class {name}(typing.NamedTuple):", f"    {field}: int", f"    {other}: int = {default}"]
            scope.bind(name, Thing("dataclass", (*uses, "sum({0}({n}))")))
            return lines
        options = self.rng.choice(["", "(frozen=True)", "(slots=True)", "(order=True, kw_only=False)"])
        lines = [f"@dataclasses.dataclass{options}", f"class {name}:", f"    {field}: int"]
        if self.rng.random() < 0.5:
            lines.append(f"    {other}: int = {default}")
        else:
            lines.append(f"    {other}: int = dataclasses.field(default_factory=lambda: {factory})")
        scope.bind(name, Thing("dataclass", (*uses, f"({{0}}({{n}}) == {{0}}({{n}})) + {{0}}({{n}}).{other}")))
        return lines

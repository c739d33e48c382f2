"""Programs about knobs: variables and options read in every way, module constants, and code that uses, moves, changes
and folds what they give.

Each program comes with the settings that its source runs with (`settings.json`); the artifact then runs with none.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from parity_tests.fuzz.statements import indent

BEGUN = "main begins"
# What variables and options may hold, by type: texts that the type's readers understand.
GIVEN = {
    "int": ("0", "1", "2", "7", "-3", " 4 "),
    "bool": ("0", "1", "true", "no", ""),
    "float": ("0.5", "1e-3", "2", "-0.0"),
    "str": ("", "adam", "sgd", "it's {x}", 'a"b', "é"),
    "list": ("1", "1,2", "3,3,3"),
}
NAMES = {"int": "FF_N{}", "bool": "FF_B{}", "float": "FF_R{}", "str": "FF_S{}", "list": "FF_L{}"}
HELPERS = (
    '''
def env_int(name, default=3):
    """A whole number."""
    try:
        return int(os.environ[name])
    except KeyError:
        return default
''',
    """
def env_int(name, default=3):
    raw = os.environ.get(name)
    if raw is None or not raw.strip():
        return default
    value = int(raw)
    return value if value >= 0 else -value
""",
    """
def env_int(name, default=3):
    raw = os.getenv(name, str(default))
    try:
        value = int(raw)
    except (ValueError, TypeError):
        value = len(raw)
    else:
        value += 1
    return value
""",
    """
def env_int(name, default=3, *, low=None):
    for key in (name, name.lower(), f"OLD_{name}"):
        if key in os.environ:
            return int(os.environ[key])
    return default if low is None else max(low, default)
""",
)
FLAGS = (
    """
def env_flag(name, default=False):
    value = os.environ.get(name)
    if value is None:
        return default
    return value.strip().lower() in ("1", "true", "yes")
""",
    """
def env_flag(name, default=False):
    return os.environ.get(name, str(int(default))) in ("1", "true") if name not in ODD else os.environ[name] == "yes"
""",
    """
def env_flag(name, default=False):
    table = {"0": False, "no": False, "": False, "1": True, "true": True}
    return table.get(os.environ.get(name, "?"), default)
""",
)
OTHERS = '''
def env_text(name, *choices, default="none"):
    """One of some texts."""
    value = env.get(name) or default
    if choices and value not in choices:
        return choices[0]
    return value


def env_list(name, default="1,2"):
    return [int(part) for part in os.environ.get(name, default).split(",") if part]


def env_real(name, default=0.25):
    text = os.environ.get(name)
    return default if not text else float(text)


def env_as(name, kind, default):
    """Whatever `kind` makes of the variable."""
    return kind(os.environ[name]) if name in os.environ else default
'''
Scope = dict[str, str]  # names in sight, and the types of their values


@dataclass
class Option:
    """An option of the parser."""

    dest: str
    kind: str
    line: str
    words: list[str]  # that give it


@dataclass
class Given:
    """What the settings give."""

    environment: dict[str, str] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)
    constants: dict[str, str] = field(default_factory=dict)  # module:NAME -> the value, as Python writes it
    named: list[str] = field(default_factory=list)  # the constants that are knobs


class Knobs:
    """Writes one program."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.count = 0
        self.given = Given()
        self.kinds: dict[str, str] = {}  # variables that the program reads
        self.options: list[Option] = []
        self.functions: list[tuple[str, list[str]]] = []  # callable here: name, types of parameters
        self.inside = 0  # blocks of functions around
        self.foreign: set[str] = set()  # names that the body which is being written does not bind itself
        self.late: list[str] = []  # options to fill in after parsing
        self.adjusted = ""  # the option that the function `adjust` sets
        self.aliases = ["from os import environ as env"]
        if self.chance(0.1):
            self.aliases += ["env = os.environ", "from pkg.helpers import env"]

    # Small things

    def fresh(self) -> int:
        self.count += 1
        return self.count

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def literal(self, kind: str) -> str:
        """A value of a type as Python writes it."""
        match kind:
            case "int":
                return str(self.rng.choice([0, 1, 2, 3, 5, 64]))
            case "bool":
                return self.rng.choice(["True", "False"])
            case "float":
                return self.rng.choice(["0.5", "1.0", "0.1", "2.5"])
            case "str":
                return self.rng.choice(['"adam"', '"sgd"', '""', '"muon"'])
        return self.rng.choice(["[1, 2]", "[]", "[3, 1]", "[0] * 2"])

    def variable(self, kind: str) -> str:
        """A variable of a type; some come back."""
        known = [name for name, one in self.kinds.items() if one == kind]
        if known and self.chance(0.4):
            return self.rng.choice(known)
        name = NAMES[kind].format(self.fresh())
        self.kinds[name] = kind
        if self.chance(0.55):
            self.given.environment[name] = self.rng.choice(GIVEN[kind])
        return name

    def holder(self) -> str:
        return self.rng.choice(["os.environ", "env", "os.environ"])

    # Reads

    def read(self, kind: str) -> str:
        """A read of the environment."""
        name, env = self.variable(kind), self.holder()
        match kind:
            case "int":
                forms = [
                    f'int({env}.get("{name}", "{self.literal("int")}"))',
                    f'int({env}.get("{name}", {self.literal("int")}))',
                    f'env_int("{name}", {self.literal("int")})',
                    f'env_int("{name}")',
                    f'helpers.env_int(name="{name}", default={self.literal("int")})',
                    f'int(os.getenv("{name}") or {self.literal("int")})',
                    f'int({env}["{name}"]) if "{name}" in {env} else {self.literal("int")}',
                    f'int({env}.get("{name}", {env}.get("{self.variable("int")}", "3")))',
                    f'env_as("{name}", int, {self.literal("int")})',
                    f'env_as("{name}", lambda text: 2 * int(text), {self.literal("int")})',
                    f'max(1, env_int("{name}", 0))',
                    f'env_int("{name}", env_int("{self.variable("int")}"))',
                    f'{{"1": 10, "7": 70}}.get({env}.get("{name}", "1"), 5)',
                ]
                if self.chance(0.2):
                    forms.append(f'int({env}.setdefault("{name}", "{self.literal("int")}"))')
                if name in self.given.environment:
                    forms.append(f'int({env}["{name}"])')
            case "bool":
                forms = [
                    f'{env}.get("{name}", "0") == "1"',
                    f'{env}.get("{name}", "1") not in ("", "0", "no")',
                    f'env_flag("{name}")',
                    f'env_flag("{name}", True)',
                    f'"{name}" in {env}',
                    f'not helpers.env_flag("{name}", default=True)',
                    f'bool({env}.get("{name}"))',
                    f'os.getenv("{name}") is not None',
                    f'env_flag("{name}") or env_flag("{self.variable("bool")}")',
                ]
            case "float":
                forms = [
                    f'float({env}.get("{name}", "0.5"))',
                    f'env_real("{name}")',
                    f'env_real("{name}", {self.literal("float")})',
                    f'env_as("{name}", float, 0.5)',
                ]
            case "str":
                forms = [
                    f'{env}.get("{name}", "adam")',
                    f'{env}.get("{name}") or "sgd"',
                    f'os.getenv("{name}", default="muon")',
                    f'env_text("{name}")',
                    f'env_text("{name}", "adam", "sgd", default="adam")',
                    f'{env}.get("{name}", "A").strip().lower()',
                    f'str({env}.get("{name}"))',
                ]
                if name in self.given.environment:
                    forms.append(f'{env}["{name}"]')
            case _:
                forms = [
                    f'env_list("{name}")',
                    f'env_list("{name}", "5")',
                    f'[int(p) for p in {env}.get("{name}", "1,2").split(",")]',
                    f'list(map(int, {env}.get("{name}", "1,2").split(",")))',
                    f'sorted(env_list("{name}"))',
                ]
        return self.rng.choice(forms)

    # Expressions

    def names(self, scope: Scope, kind: str) -> list[str]:
        return [name for name, one in scope.items() if one == kind]

    def some(self, scope: Scope, kind: str, depth: int = 2) -> str:
        """An expression of a type."""
        found = self.names(scope, kind)
        if depth <= 0 or self.chance(0.45):
            if found and self.chance(0.85):
                return self.rng.choice(found)
            return self.read(kind) if self.chance(0.3) else self.literal(kind)
        if self.chance(0.15):
            yes, no = self.some(scope, kind, depth - 1), self.some(scope, kind, depth - 1)
            return f"({yes} if {self.test(scope, depth - 1)} else {no})"
        if self.chance(0.1):
            return f"({self.some(scope, kind, depth - 1)} {self.rng.choice(['or', 'and'])} {self.some(scope, kind, 0)})"

        def one(which: str) -> str:
            return self.some(scope, which, depth - 1)

        match kind:
            case "int":
                forms: list[Callable[[], str]] = [
                    lambda: f"({one('int')} {self.rng.choice('+-*')} {one('int')})",
                    lambda: f"len({one('str')})",
                    lambda: f"len({one('list')})",
                    lambda: f"sum({one('list')})",
                    lambda: f"int({one('bool')})",
                    lambda: f"min({one('int')}, {one('int')})",
                    lambda: f'{{"adam": {one("int")}, "sgd": 2}}.get({one("str")}, {one("int")})',
                    lambda: f"{{True: {one('int')}, False: {one('int')}}}[bool({one('bool')})]",
                    lambda: f"({one('int')}, {one('int')})[{one('int')} > 1]",
                    lambda: f"sum(i * {one('int')} for i in range({one('int')} % 3))",
                    lambda: f"(lambda n={one('int')}: n + {one('int')})()",
                    lambda: f"len([x for x in {one('list')} if x > ({one('int')})])",
                ]
            case "bool":
                forms = [lambda: self.test(scope, depth - 1)]
            case "float":
                forms = [
                    lambda: f"({one('float')} * {one('int')})",
                    lambda: f"({one('float')} + {one('float')})",
                    lambda: f"max({one('float')}, {one('float')})",
                ]
            case "str":
                forms = [
                    lambda: f'f"{{{self.plain(scope, "int")}}}:{{{self.plain(scope, "str")}!r}}"',
                    lambda: f'f"{{{self.plain(scope, "float")}:.2f}}|{{{self.plain(scope, "bool")}}}"',
                    lambda: f"({one('str')} + {one('str')})",
                    lambda: f"str({one('int')})",
                    lambda: f"{one('str')}.upper()",
                    lambda: f'"-".join(str(x) for x in {one("list")})',
                    lambda: f'"%s %d" % ({one("str")}, {one("int")})',
                ]
            case _:
                forms = [
                    lambda: f"[{one('int')}, {one('int')}]",
                    lambda: f"[x + 1 for x in {one('list')}]",
                    lambda: f"({one('list')} + {one('list')})",
                    lambda: f"list({one('list')})",
                    lambda: f"{one('list')}[:1]",
                ]
        written = self.rng.choice(forms)()
        return written if '\\"' not in written and (kind != "str" or written.count('"') < 9) else self.literal(kind)

    def plain(self, scope: Scope, kind: str) -> str:
        """A name, or a literal without quotes."""
        found = [name for name in self.names(scope, kind) if name.replace(".", "").isidentifier()]
        return self.rng.choice(found) if found else {"str": "1", "float": "1.5", "int": "6"}.get(kind, "True")

    def test(self, scope: Scope, depth: int = 1) -> str:
        """A condition."""
        forms = [
            lambda: f"{self.some(scope, 'int', depth - 1)} > {self.some(scope, 'int', 0)}",
            lambda: f"{self.some(scope, 'str', depth - 1)} == {self.literal('str')}",
            lambda: f"{self.some(scope, 'str', 0)} in ({self.literal('str')}, {self.literal('str')})",
            lambda: f"not {self.some(scope, 'bool', 0)}",
            lambda: f"{self.some(scope, 'bool', 0)} and {self.some(scope, 'int', 0)} < 3",
            lambda: f"{self.some(scope, 'list', 0)} or {self.some(scope, 'bool', 0)}",
            lambda: f"0 < {self.some(scope, 'int', 0)} <= {self.some(scope, 'int', 0)}",
            lambda: f"{self.some(scope, 'int', 0)} in {self.some(scope, 'list', 0)}",
            lambda: f"{self.some(scope, 'float', 0)} != 0.5",
            lambda: f"bool({self.some(scope, 'str', 0)})",
        ]
        return f"({self.rng.choice(forms)()})"

    # Statements

    def name(self) -> str:
        return f"{self.rng.choice(['K', 'depth', 'W', 'lr', '_x'])}{self.fresh()}"

    def kind(self) -> str:
        return self.rng.choice(["int", "int", "int", "bool", "str", "float", "list"])

    def show(self, scope: Scope) -> list[str]:
        shown = [self.some(scope, self.kind()) for _ in range(self.rng.randint(1, 3))]
        return [f"print({self.fresh()}, {', '.join(shown)})"]

    def block(self, scope: Scope, depth: int) -> list[str]:
        """The inside of a block; what it binds is forgotten behind it, what it changes is not."""
        inner = dict(scope)
        lines: list[str] = []
        for _ in range(self.rng.randint(1, 2)):
            lines += self.statement(inner, depth)
        return lines or ["pass"]

    def statement(self, scope: Scope, depth: int = 2) -> list[str]:
        """One statement of a body; knows nothing that it may not change."""
        forms: list[Callable[[Scope, int], list[str]]] = [
            self.assign,
            self.assign,
            lambda scope, depth: self.show(scope),
            lambda scope, depth: self.show(scope),
            self.rebind,
            self.change,
            self.alias,
            self.attempt,
            self.table,
            self.unpack,
            self.call,
        ]
        if depth > 0:
            forms += [self.condition, self.condition, self.condition, self.loop, self.match, self.literal_loop]
            forms += [self.guard, self.local_function]
        return self.rng.choice(forms)(scope, depth - 1)

    def assign(self, scope: Scope, depth: int) -> list[str]:
        kind, name = self.kind(), self.name()
        value = self.read(kind) if self.chance(0.5) else self.some(scope, kind)
        scope[name] = kind
        form = self.rng.randrange(8)
        if form == 0:
            return [f"{name}: {kind} = {value}"]
        if form == 1:
            other = self.name()
            scope[other] = kind
            return [f"{name} = {other} = {value}"]
        if form == 2 and self.inside:
            return [f"if ({name} := {value}):", *indent(self.show(scope)), "else:", *indent(self.show(scope))]
        return [f"{name} = {value}"]

    def own(self, scope: Scope, *kinds: str) -> list[str]:
        """Names that this body binds itself."""
        return [n for n, k in scope.items() if (not kinds or k in kinds) and n.isidentifier() and n not in self.foreign]

    def rebind(self, scope: Scope, depth: int) -> list[str]:
        """A variable gets another value."""
        names = self.own(scope)
        if not names:
            return self.assign(scope, depth)
        name = self.rng.choice(names)
        kind = scope[name]
        operator = {"int": ["+=", "*=", "-="], "str": ["+="], "list": ["+="], "float": ["*="]}.get(kind, ["="])
        if self.chance(0.5):
            return [f"{name} {self.rng.choice(operator)} {self.some(scope, kind, 1)}"]
        return [f"{name} = {self.some(scope, kind, 1)}"]

    def change(self, scope: Scope, depth: int) -> list[str]:
        """A list is changed in place."""
        found = [name for name in self.names(scope, "list") if name.isidentifier() or "." in name]
        if not found:
            return self.assign(scope, depth)
        name, value = self.rng.choice(found), self.some(scope, "int", 1)
        forms = [
            [f"{name}.append({value})"],
            [f"{name}.extend([{value}, 1])"],
            [f"{name}[:] = [{value}]"],
            [f"{name}.insert(0, {value})"],
            [f"if {name}:", f"    {name}[0] = {value}"],
            [f"if {name}:", f"    del {name}[-1]"],
            [f"if {name}:", f"    {name}[0] += {value}"],
            [f"{name}.sort()"],
            [f"getattr({name}, 'append')({value})"],
            [f"list.append({name}, {value})"],
            [f"extended({name}, {value})"],
            [f"[{name}.append(x) for x in (1, 2)]"],
        ]
        return self.rng.choice(forms)

    def alias(self, scope: Scope, depth: int) -> list[str]:
        """Another name for a value."""
        if not scope:
            return self.assign(scope, depth)
        old, name = self.rng.choice(sorted(scope)), self.name()
        scope[name] = scope[old]
        return [f"{name} = {old}"]

    def attempt(self, scope: Scope, depth: int) -> list[str]:
        """`try` around a variable that may not be there, or may be no number."""
        name, variable = self.name(), self.variable("int")
        scope[name] = "int"
        if self.chance(0.98):  # what else comes of it is seldom known
            self.given.environment.setdefault(variable, "5")
        form = self.rng.randrange(5)
        if form == 0:
            return ["try:", f'    {name} = int({self.holder()}["{variable}"])', "except KeyError:", f"    {name} = 4"]
        if form == 1:
            text = self.some({k: v for k, v in scope.items() if k != name}, "str", 1)
            return ["try:", f"    {name} = int({text})", "except ValueError as error:", f"    {name} = len(str(error))"]
        if form == 2:
            return [
                "try:",
                f'    {name} = {self.holder()}["{variable}"]',
                "except (KeyError, ValueError):",
                f"    {name} = 5",
                "else:",
                f"    print({self.fresh()}, {name})",
                f"    {name} = 6",
                "finally:",
                f"    print({self.fresh()})",
            ]
        if form == 3:
            other = self.some({k: v for k, v in scope.items() if k != name}, "int", 1)
            return [
                f"{name} = {self.literal('int')}",
                "try:",
                f"    {name} = 7 // {other}",
                "except ZeroDivisionError:",
                f"    print({self.fresh()}, 'by zero')",
            ]
        return [
            "try:",
            f'    print({self.fresh()}, {self.holder()}["{variable}"])',
            f"    {name} = 1",
            "except Exception as error:",
            f"    {name} = len(type(error).__name__)",
        ]

    def table(self, scope: Scope, depth: int) -> list[str]:
        """A dict made of knobs, perhaps changed, and read."""
        name, got = self.name(), self.name()
        lines = [f'{name} = {{"a": {self.some(scope, "int", 1)}, "b": {self.some(scope, "int", 1)}}}']
        changes = [
            f'{name}["a"] = {self.some(scope, "int", 1)}',
            f"{name}.update(b={self.some(scope, 'int', 1)})",
            f'{name}["a"] += 1',
            f'{name}.setdefault("c", 3)',
            f'{name} |= {{"a": 9}}',
            f'filled({name}, "b", {self.some(scope, "int", 1)})',
            f"print({self.fresh()}, {name})",
        ]
        lines += self.rng.sample(changes, self.rng.randrange(3))
        lines.append(f'{got} = {name}["a"] + {name}.get("b", 1)')
        scope[got] = "int"
        scope[f'{name}["a"]'] = "int"
        return lines

    def unpack(self, scope: Scope, depth: int) -> list[str]:
        one, other = self.name(), self.name()
        values = f"{self.some(scope, 'int', 1)}, {self.some(scope, 'str', 1)}"
        scope |= {one: "int", other: "str"}
        return [f"{one}, {other} = {values}"]

    def call(self, scope: Scope, depth: int) -> list[str]:
        """A function is called."""
        if not self.functions:
            return self.show(scope)
        function, kinds = self.rng.choice(self.functions)
        given = [self.some(scope, kind, 1) for kind in kinds]
        form = self.rng.randrange(6)
        called = f"{function}({', '.join(given)})"
        if form == 0 and given:
            called = f"{function}(*[{', '.join(given)}])"
        elif form == 1:
            called = f"(lambda call: call({', '.join(given)}))({function})"
        return [f"print({self.fresh()}, {called})"]

    def condition(self, scope: Scope, depth: int) -> list[str]:
        lines = [f"if {self.test(scope)}:", *indent(self.block(scope, depth))]
        if self.chance(0.4):
            lines += [f"elif {self.test(scope)}:", *indent(self.block(scope, depth))]
        if self.chance(0.5):
            lines += ["else:", *indent(self.block(scope, depth))]
        return lines

    def loop(self, scope: Scope, depth: int) -> list[str]:
        item = f"i{self.fresh()}"
        inner = {**scope, item: "int"}
        if self.chance(0.3):
            body = self.block(inner, depth)
            return [
                f"{item} = {self.some(scope, 'int', 1)} % 3",
                f"while {item} > 0:",
                f"    {item} -= 1",
                *indent(body),
            ]
        over = (
            f"range({self.some(scope, 'int', 1)} % 3)" if self.chance(0.5) else f"list({self.some(scope, 'list', 1)})"
        )
        lines = [f"for {item} in {over}:", *indent(self.block(inner, depth))]
        if self.chance(0.3):
            lines += [f"    if {self.test(inner)}:", f"        {self.rng.choice(['break', 'continue'])}"]
            lines += ["else:", *indent(self.show(scope))] if self.chance(0.5) else []
        return lines

    def literal_loop(self, scope: Scope, depth: int) -> list[str]:
        """A loop over a table written in place, some lines of which a knob switches off."""
        on, word = f"on{self.fresh()}", f"word{self.fresh()}"
        rows = ", ".join(f'("w{self.fresh()}", {self.some(scope, "bool", 0)})' for _ in range(self.rng.randint(1, 3)))
        inner = {**scope, word: "str"}
        lines = [f"for {word}, {on} in ({rows},):"]
        if self.inside and self.chance(0.7):  # at a module's top the last value of `on` would show
            return [*lines, f"    if {on}:", *indent(indent(self.block(inner, depth)))]
        return [*lines, *indent([*self.block(inner, depth), f"print({on}, {word})"])]

    def match(self, scope: Scope, depth: int) -> list[str]:
        kind = self.rng.choice(["str", "int", "bool"])
        patterns = {"str": ['"adam"', '"sgd" | "muon"', '""'], "int": ["0", "1 | 2", "-3", "7"], "bool": ["True", "0"]}
        lines = [f"match {self.some(scope, kind, 1)}:"]
        for pattern in self.rng.sample(patterns[kind], self.rng.randint(1, 2)):
            guard = f" if {self.test(scope)}" if self.chance(0.2) else ""
            lines += [f"    case {pattern}{guard}:", *indent(indent(self.block(scope, depth)))]
        if self.chance(0.6):
            taken = f"other{self.fresh()}" if self.chance(0.5) else "_"
            lines += [f"    case {taken}:", *indent(indent(self.block(scope, depth)))]
        return lines

    def guard(self, scope: Scope, depth: int) -> list[str]:
        """A test that raises, or ends the program, caught or hardly ever true."""
        test = self.test(scope)
        kind = self.rng.choice(["ValueError", "KeyError", "SystemExit"])
        body = [f"if {test}:", f'    raise {kind}(f"{{{self.plain(scope, "int")}}}")', *self.show(scope)]
        return ["try:", *indent(body), f"except {kind} as error:", f"    print({self.fresh()}, repr(error))"]

    def local_function(self, scope: Scope, depth: int) -> list[str]:
        """A function inside, perhaps one that binds a variable around it; called afterwards."""
        function = f"local{self.fresh()}"
        names = self.own(scope, "int", "str")
        lines = []
        outer, self.inside = self.inside, self.inside + 1
        inner = dict(scope)
        if names and self.chance(0.5):
            name = self.rng.choice(names)
            lines += [f"{'nonlocal' if outer else 'global'} {name}", f"{name} += {self.some(scope, scope[name], 1)}"]
            lines.append(f"return {name}")
        else:
            before, self.foreign = self.foreign, self.foreign | set(scope)
            lines += [*self.block(inner, depth), f"return {self.some(scope, 'int', 1)}"]
            self.foreign = before
        self.inside = outer
        use = [f"print({self.fresh()}, {function}())"] if self.chance(0.7) else []
        return [f"def {function}():", *indent(lines), *use]

    # Definitions at a module's top

    def function(self, scope: Scope) -> list[str]:
        """A function with parameters, defaults made of knobs, and a body that uses them."""
        name = f"work{self.fresh()}"
        kinds = [self.kind() for _ in range(self.rng.randint(0, 2))]
        parameters = [f"p{self.fresh()}" for _ in kinds]
        extra = f"extra{self.fresh()}"
        default = self.some(scope, "int", 1)
        outer, before, self.inside = set(self.foreign), self.functions, 1
        self.functions = []
        self.foreign = set(scope)
        inner = {**scope, **dict(zip(parameters, kinds, strict=True)), extra: "int"}
        body: list[str] = []
        changed = [n for n in scope if n.isidentifier() and n not in outer and scope[n] in ("int", "str", "list")]
        if changed and self.chance(0.25):
            one = self.rng.choice(changed)
            body += [f"global {one}", f"{one} {self.rng.choice(['+=', '='])} {self.some(scope, scope[one], 1)}"]
        for _ in range(self.rng.randint(1, 4)):
            body += self.statement(inner)
        body.append(f"return {self.some(inner, 'int')}")
        self.inside, self.foreign, self.functions = 0, outer, [*before, (name, kinds)]
        decorator = [self.rng.choice(["@functools.lru_cache(maxsize=None)", "@passed"])] if self.chance(0.1) else []
        if decorator and "list" in kinds:
            decorator = []
        return [
            "",
            "",
            *decorator,
            f"def {name}({', '.join([*parameters, f'{extra}={default}'])}):",
            *indent(body),
            "",
            "",
        ]

    def class_(self, scope: Scope) -> list[str]:
        """A class whose attributes and defaults are knobs."""
        name = f"Part{self.fresh()}"
        kind, other = self.kind(), self.kind()
        lines = [
            f"size = {self.some(scope, kind, 1)}",
            f"other: {other} = {self.some(scope, other, 1)}",
            "",
            f"def __init__(self, n={self.some(scope, 'int', 1)}):",
            f"    self.n = n + {self.some(scope, 'int', 1)}",
        ]
        if self.chance(0.4):
            lines += [f"    if {self.test(scope)}:", f"        self.n = {self.some(scope, 'int', 1)}"]
        if self.chance(0.3):
            lines += [f"    type(self).size = {self.some(scope, kind, 1)}"]
        lines += ["", "def run(self):", f"    return self.n, self.size, self.other, {self.some(scope, 'str', 1)}"]
        after = [f"print({self.fresh()}, {name}().run(), {name}.size)"]
        if self.chance(0.4):
            after.insert(0, f"{name}.size = {self.some(scope, kind, 1)}")
        scope[f"{name}.size"] = kind
        return ["", "", f"class {name}:", *indent(lines), "", "", *after]

    # The command line

    def option(self, scope: Scope) -> str:
        """A line that adds an option."""
        number = self.fresh()
        kind = self.rng.choice(["int", "int", "str", "float", "bool", "bool", "list", "none"])
        dest, flag, words = f"o{number}", f"--o{number}", []
        if self.chance(0.3):
            dest, flag = f"long_o{number}", f"--long-o{number}"
        known = {n: k for n, k in scope.items() if n.startswith("CONST_")}
        default = self.some(scope if self.chance(0.01) else known, kind, 1) if kind != "none" else "None"
        default = self.literal(kind) if "map(" in default else default
        match kind:
            case "bool":
                action = self.rng.choice(['"store_true"', '"store_false"', "argparse.BooleanOptionalAction"])
                line = f'"{flag}", action={action}'
                if "Boolean" in action:
                    line += f", default={default}"
                    words = [self.rng.choice([flag, f"--no-{flag[2:]}"])]
                else:
                    words = [flag]
            case "list":
                line = f'"{flag}", type=int, nargs="*", default={default}'
                words = [flag, "4", "2"]
                if self.chance(0.3):
                    line = f'"{flag}", type=lambda text: [int(one) for one in text.split(",")], default={default}'
                    words = [flag, "4,2"]
            case "str":
                line = f'"{flag}", default={default}'
                words = [f"{flag}={self.rng.choice(['adam', 'sgd', 'x y'])}"]
                if self.chance(0.4):
                    line = f'"{flag}", choices=["adam", "sgd"], default="sgd"'
                    words = [flag, "adam"]
            case "none":
                kind = "int"
                line = f'"{flag}", type=int'
                words = [flag, "8"]
                self.late.append(dest)
            case _:
                line = f'"{flag}", type={kind}, default={default}'
                words = [flag, self.rng.choice(["1", "0", "12"])]
        if self.chance(0.2):
            line += f', help="about {number}"'
        self.options.append(Option(dest, kind, line, words))
        return line

    def parser(self, scope: Scope, form: str) -> list[str]:
        """Statements that make the parser and ask it."""
        self.late = []
        about = self.rng.choice(["", 'description="text"'])
        lines = [f"parser = argparse.ArgumentParser({about})"]
        for _ in range(self.rng.randint(1, 6)):
            if self.chance(0.1):
                line = self.option(scope)
                lines += [f"if {self.some(scope, 'bool', 0)} or True:", f"    parser.add_argument({line})"]
            elif self.chance(0.15):
                lines += ["group = parser.add_argument_group('group')", f"group.add_argument({self.option(scope)})"]
            else:
                lines.append(f"parser.add_argument({self.option(scope)})")
        for option in self.options:
            if self.chance(0.5):
                self.given.arguments += option.words
        how = self.rng.random()
        if how < 0.1:
            lines.append("args, rest = parser.parse_known_args()")
        elif how < 0.2:
            lines.append("args = parser.parse_args(sys.argv[1:])")
        elif how < 0.35 and form == "function":
            lines.append("args = parser.parse_args(argv)")
        elif how < 0.36:
            lines.append("args = parser.parse_known_args()[0]")
        else:
            lines.append("args = parser.parse_args()")
        numbers = [o.dest for o in self.options if o.kind == "int" and o.dest not in self.late]
        for dest in self.late:
            value = f"args.{self.rng.choice(numbers)} + 1" if numbers else "5"
            if self.chance(0.5):
                lines += [f"if args.{dest} is None:", f"    args.{dest} = {value}"]
            else:
                lines.append(f"args.{dest} = args.{dest} if args.{dest} is not None else {value}")
        for _ in range(self.rng.choice([0, 0, 0, 1, 2])):
            lines += self.mutation("args", scope)
        return lines

    def fields(self, name: str) -> Scope:
        """The options as expressions."""
        found = {}
        for option in self.options:
            form = self.rng.random()
            text = f"{name}.{option.dest}"
            if form < 0.06:
                text = f'getattr({name}, "{option.dest}")'
            elif form < 0.1:
                text = f'vars({name})["{option.dest}"]'
            elif form < 0.12:
                text = f'getattr({name}, "{option.dest}", 5)'
            found[text] = option.kind
        return found

    def mutation(self, name: str, scope: Scope) -> list[str]:
        """A statement that changes an option."""
        option = self.rng.choice(self.options)
        dest, value = option.dest, self.some(scope, option.kind, 1)
        number = self.fresh()
        forms = [
            [f"{name}.{dest} = {value}"],
            [f"{name}.{dest} = {value}"],
            [f"other{number} = {name}", f"other{number}.{dest} = {value}"],
            [f'vars({name})["{dest}"] = {value}'],
            [f"vars({name}).update({dest}={value})"],
            [f'setattr({name}, "{dest}", {value})'],
            [f'for key{number} in ("{dest}",):', f"    setattr({name}, key{number}, {value})"],
            [f'{name}.__dict__["{dest}"] = {value}'],
            [f"adjust({name}, {value})"],
            [f"table{number} = vars({name})", f'table{number}["{dest}"] = {value}'],
            [f"if {self.test(scope)}:", f"    {name}.{dest} = {value}"],
            [f"{name}.extra{number} = {value}", f"print({number}, {name}.extra{number})"],
        ]
        if option.kind == "list":
            forms += [[f"{name}.{dest}.append(9)"], [f"{name}.{dest} += [8]"], [f"extended({name}.{dest}, 7)"]]
        chosen = self.rng.choice(forms)
        self.adjusted = dest if chosen[0].startswith("adjust(") else self.adjusted
        return chosen

    def reads(self, name: str) -> list[str]:
        """Ways to look at all the options."""
        number = self.fresh()
        forms = [
            f"print({number}, vars({name}))",
            f"print({number}, sorted(vars({name}).items(), key=str))",
            f"print({number}, {name})",
            f'print({number}, hasattr({name}, "{self.options[0].dest}"), hasattr({name}, "nothing"))',
            f'print({number}, getattr({name}, "nothing", 3))',
            f'print({number}, "{self.options[0].dest}" in {name})',
            f"print({number}, [key for key, value in vars({name}).items() if value is not None])",
        ]
        return [self.rng.choice(forms)]

    def takers(self, scope: Scope) -> list[str]:
        """Functions and a class that take the options."""
        first, before = dict(scope), self.foreign
        shown = {**first, **self.fields("args")}
        self.inside, self.foreign = 1, set(scope)
        body = [*self.statement(shown), *self.statement(shown)]
        deeper = {**first, **self.fields("options")}
        inner = [*self.statement(deeper), f"return {self.some(deeper, 'int')}"]
        if self.chance(0.15):
            inner = self.mutation("options", first) + inner
        kept = {**first, **self.fields("self.args")}
        made = {**first, **self.fields("args")}
        methods = self.statement(kept)
        lines = ["", "", "def step(options, scale=1):", *indent(inner), "", "", "def use(args):", *indent(body)]
        if self.chance(0.5):
            lines += indent(self.reads("args"))
        lines += ["    return step(args)" if self.chance(0.5) else "    return step(options=args, scale=2)"]
        lines += ["", "", "class Model:", "    def __init__(self, args, n=1):"]
        if self.chance(0.6):
            lines += ["        self.args = args"]
            run = [*methods, f"return {self.some(kept, 'int')}, self.width"]
        else:
            run = ["return self.width"]
        lines += [f"        self.width = {self.some(made, 'int')}", *indent(indent(self.statement(made)))]
        lines += ["", "    def run(self):", *indent(indent(run))]
        lines += ["", "", "def adjust(args, value):", f"    args.{self.adjusted or 'nowhere'} = value", "", ""]
        self.inside, self.foreign = 0, before
        return lines

    # The program

    def package(self) -> dict[str, str]:
        """All files, by path."""
        rng = self.rng
        helpers = ["import os", "", "env = os.environ", "ODD = ()", ""]
        helpers += [rng.choice(HELPERS), rng.choice(FLAGS), OTHERS]
        helpers.append("\ndef extended(items, value):\n    items.append(value)\n    return items\n")
        helpers.append("\ndef filled(table, key, value):\n    table[key] = value\n\n")
        helpers.append("\ndef passed(function):\n    return function\n")
        files = {"pkg/__init__.py": "", "pkg/helpers.py": "\n".join(helpers)}
        modules: list[tuple[str, Scope]] = []
        for stem in ("knobs", "parts")[: rng.randint(0, 2)]:
            scope, lines = self.start(modules)
            lines += self.constants(f"pkg.{stem}", scope)
            for _ in range(rng.randint(3, 7)):
                lines += self.top(scope)
            self.functions = []
            own = {n: k for n, k in scope.items() if f"{n} " in "\n".join(lines) and n.isidentifier()}
            mine = {n: k for n, k in own.items() if not any(n in other for _, other in modules)}
            modules.append((stem, mine))
            files[f"pkg/{stem}.py"] = "\n".join(lines) + "\n"
        files["pkg/train.py"] = self.entry(modules)
        self.given.environment = {
            n: v for n, v in self.given.environment.items() if f'"{n}"' in "".join(files.values())
        }
        files["settings.json"] = json.dumps(vars(self.given), indent=1, ensure_ascii=False)
        return files

    def start(self, modules: list[tuple[str, Scope]]) -> tuple[Scope, list[str]]:
        """The top of a module: what it imports."""
        scope: Scope = {}
        environ = self.rng.choice(self.aliases)
        lines = ["import argparse", "import functools", "import os", "import sys", "from pkg import helpers"]
        names = "env_as, env_flag, env_int, env_list, env_real, env_text, extended, filled, passed"
        lines += [f"from pkg.helpers import {names}", environ]
        foreign: set[str] = set()
        for stem, there in modules:
            if not there:
                lines.append(f"import pkg.{stem} as {stem[0]}_module")
            elif self.chance(0.5):
                lines.append(f"from pkg import {stem} as {stem[0]}_module")
                scope |= {f"{stem[0]}_module.{name}": kind for name, kind in there.items()}
            elif self.chance(0.06):
                lines.append(f"from pkg.{stem} import *")
                scope |= {name: kind for name, kind in there.items() if not name.startswith("_")}
            else:
                lines.append(f"from pkg.{stem} import {', '.join(sorted(there))}")
                scope |= there
        foreign |= {name.split(".")[0].split("[")[0] for name in scope}
        self.foreign, self.functions, self.inside = foreign, [], 0
        return scope, lines

    def constants(self, module: str, scope: Scope) -> list[str]:
        """Module constants that the settings name, with a value or without."""
        lines = []
        for _ in range(self.rng.choice([0, 0, 1, 2])):
            kind, name = self.rng.choice(["int", "str", "bool", "float"]), f"CONST_{self.fresh()}"
            value = self.literal(kind)
            self.given.named.append(f"{module}:{name}")
            lines.append(f"{name} = {value}")
            if self.chance(0.6):
                self.given.constants[f"{module}:{name}"] = self.literal(kind)
            scope[name] = kind
            self.foreign = self.foreign | {name}
        return lines

    def top(self, scope: Scope) -> list[str]:
        """A statement at a module's top."""
        form = self.rng.random()
        if form < 0.3:
            return self.function(scope)
        if form < 0.4:
            return self.class_(scope)
        return self.statement(scope)

    def entry(self, modules: list[tuple[str, Scope]]) -> str:
        scope, lines = self.start(modules)
        lines += self.constants("pkg.train", scope)
        for _ in range(self.rng.randint(1, 5)):
            lines += self.top(scope)
        body = [f'print("{BEGUN}")']
        inner = dict(scope)
        with_options = self.chance(0.75)
        own = set(self.foreign)
        if with_options:
            form = self.rng.choice(["module", "function", "main", "function"])
            made = self.parser({n: k for n, k in scope.items() if '"' not in n}, form)
            takers = self.takers(scope)
            if form == "module":
                lines += [*takers, *made]
                inner |= self.fields("args")
                if self.chance(0.5):
                    lines += self.statement({**scope, **self.fields("args")})
            elif form == "function":
                needed = any("(argv)" in line for line in made)
                parameter = "argv=None" if needed or self.chance(0.6) else ""
                lines += [*takers, "", f"def parse({parameter}):", *indent(made), "    return args", "", ""]
                body += ["args = parse()"]
                inner |= self.fields("args")
            else:
                lines += takers
                body += made
                inner |= self.fields("args")
        self.inside, self.foreign = 1, set(scope)
        for _ in range(self.rng.randint(1, 3)):
            body += self.statement(inner)
        if with_options:
            if self.chance(0.2):
                body += self.mutation("args", scope)
            body += [f"print({self.fresh()}, use(args), Model(args).run())"]
            body += self.reads("args") if self.chance(0.3) else []
            if self.chance(0.15):
                body += self.mutation("args", scope)
                body += [f"print({self.fresh()}, use(args))"]
        for _ in range(self.rng.randint(0, 2)):
            body += self.statement(inner)
        body += [f"print({self.fresh()}, {name})" for name in sorted(scope)[:12]]
        if self.chance(0.1):
            body.append(f"raise SystemExit({self.some(inner, 'int')})")
        self.foreign = own
        return "\n".join(
            [*lines, "", "", "def main():", *indent(body), "", "", 'if __name__ == "__main__":', "    main()", ""]
        )

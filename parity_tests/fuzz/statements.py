"""Statements of function bodies: everything that binds, hides and unbinds names."""

from __future__ import annotations

import textwrap

from parity_tests.fuzz.expressions import Expressions
from parity_tests.fuzz.names import EXCEPTION, NUMBER, Frame, Scope, Thing

RAISED = ("ValueError", "KeyError", "ZeroDivisionError")
EXTERNAL = (
    ("import math as {0}", "{0}.floor(3.7 + {n})"),
    ("import math", "{0}.isqrt({n})"),
    ("from math import comb as {0}", "{0}({n}, 2)"),
    ("from math import gcd as {0}", "{0}({n}, 12)"),
    ("import os.path", "{0}.path.basename('x/y').count('y')"),
    ("import os.path as {0}", "{0}.join('a', 'b').count('a')"),
    ("from os import path as {0}", "{0}.join('a', 'b').count('b')"),
    ("import collections.abc as {0}", "int(isinstance({n}, {0}.Sized))"),
    ("from operator import add as {0}", "{0}({n}, 1)"),
    ("import operator as {0}", "{0}.sub({n}, 1)"),
    ("from functools import reduce as {0}", "{0}(int.__add__, (1, {n}))"),
)


def indent(lines: list[str]) -> list[str]:
    """Lines moved into a block."""
    return textwrap.indent("\n".join(lines), "    ").split("\n")


class Statements(Expressions):
    """Writes statements of function bodies."""

    def plan(self, *without: str, some: int = 4) -> frozenset[str]:
        """Names that a body is going to bind."""
        names = [*self.rng.sample(self.pool, self.rng.randrange(some)), "l_" + self.rng.choice(self.pool)]
        return frozenset(names) - set(without)

    def target(self, scope: Scope, thing: Thing) -> str | None:
        """A name that may be bound here."""
        names = [n for n in sorted(scope.frame.planned) if scope.can_bind(n, thing) and n not in scope.frame.declared]
        return self.rng.choice(names) if names else None

    def body(self, scope: Scope, depth: int, statements: int = 3) -> list[str]:
        """Statements of a function, ending in its result."""
        lines: list[str] = []
        for _ in range(self.rng.randint(0, statements)):
            lines += self.statement(scope, depth)
        return [*lines, f"return {self.number(scope)}"]

    def show(self, scope: Scope) -> list[str]:
        return [f"print({self.fresh()}, {self.number(scope)})"]

    def statement(self, scope: Scope, depth: int) -> list[str]:
        """One statement (or a few that belong together)."""
        forms = [self.assign, self.assign, self.show, self.local_function, self.local_function]
        if depth > 0:
            forms += [self.condition, self.loop]
            forms += [self.try_, self.with_] if self.has("exceptions") else []
            forms += [self.match] if self.has("match") else []
            forms += [self.local_class] if self.has("classes") else []
            forms += [self.while_] if self.has("statements") else []
        forms += [self.local_import] * 2 if self.has("imports_inside") else []
        forms += [self.external_import] if self.has("external") else []
        forms += [self.walrus] if self.has("walrus") else []
        forms += [self.global_] if self.has("globals") else []
        forms += [self.nonlocal_] if self.has("nonlocals") else []
        forms += [self.unpack, self.augmented, self.delete, self.annotated] if self.has("statements") else []
        return self.rng.choice(forms)(scope) or [f"# {self.fresh()}"]

    # Bindings

    def assign(self, scope: Scope) -> list[str]:
        name, value = self.target(scope, NUMBER), self.number(scope)
        if name is None:
            return []
        scope.bind(name, NUMBER)
        return [f"{name} = {value}"]

    def annotated(self, scope: Scope) -> list[str]:
        value, note = self.number(scope), self.annotation(scope)
        name = self.target(scope, NUMBER)
        if name is None:
            return []
        scope.bind(name, NUMBER)
        return [f"{name}: {note} = {value}"]

    def annotation(self, scope: Scope) -> str:
        """An annotation of something in sight, plain or as a string."""
        found = [name for name, _ in scope.things("class", "dataclass", "enum", "int")]
        name = scope.read(self.rng.choice(found)) if found else "int"
        return self.rng.choice(["int", name, f'"{name}"', f"list[{name}]", f'"dict[str, {name}]"', "None"])

    def unpack(self, scope: Scope) -> list[str]:
        values = f"{self.number(scope)}, {self.number(scope)}"
        one, other = self.target(scope, NUMBER), self.target(scope, NUMBER)
        if one is None or other is None or one == other:
            return []
        scope.bind(one, NUMBER)
        scope.bind(other, NUMBER)
        form = self.rng.randrange(3)
        if form == 0:
            return [f"{one}, {other} = {values}"]
        if form == 1:
            return [f"[{one}, *{other}] = {values}", f"{other} = {other}[0]"]
        return [f"({one}, ({other}, _)) = {self.fresh()}, ({self.fresh()}, 0)"]

    def augmented(self, scope: Scope) -> list[str]:
        names = [
            name
            for name, bound in sorted(scope.names.items())
            if bound.frame is scope.frame and bound.thing.kind == "int" and name in scope.frame.planned
        ]
        return [f"{self.rng.choice(names)} {self.rng.choice(['+=', '-=', '^='])} {self.number(scope)}"] if names else []

    def delete(self, scope: Scope) -> list[str]:
        names = [
            name
            for name, bound in sorted(scope.names.items())
            if bound.frame is scope.frame and name in scope.frame.planned and name not in scope.frame.captured
            if bound.thing.kind != "module"
        ]
        if not names:
            return []
        name = self.rng.choice(names)
        del scope.names[name]
        return [f"del {name}"]

    def walrus(self, scope: Scope) -> list[str]:
        value, name = self.number(scope), self.target(scope, NUMBER)
        if name is None:
            return []
        form = self.rng.randrange(3)
        if form == 0:
            scope.bind(name, NUMBER)
            return [f"print({self.fresh()}, ({name} := {value}))"]
        if form == 1:
            variable = self.pick(name)
            inner = scope.comprehension(variable)
            inner.names.pop(name, None)
            text = f"print([({name} := {self.number(inner, 1)}) for {variable} in range(1, 3)])"
            scope.bind(name, NUMBER)
            return [text]
        scope.bind(name, NUMBER)
        block = scope.block()
        lines = [f"if ({name} := {value}) > {self.fresh()}:", *indent(self.block(block, 0))]
        scope.leave(block)
        return lines

    def global_(self, scope: Scope) -> list[str]:
        """A function that binds a name of the module."""
        names = [
            name
            for name, bound in sorted(scope.module.names.items())
            if bound.frame is scope.module.frame and bound.thing.kind == "int"
            if scope.frame.kind != "function" or name not in scope.frame.planned
        ]
        name = self.target(scope, Thing("call", ()))
        if not names or name is None:
            return []
        bound = self.rng.choice(names)
        if bound == name:
            return []
        scope.module.frame.captured.add(bound)
        frame = Frame("function", frozenset({bound}), declared={bound}, parent=scope.frame)
        inner = scope.function(frame)
        inner.names[bound] = scope.module.names[bound]
        lines = [f"global {bound}", f"{bound} = {self.number(inner)}", f"return {bound} + {self.number(inner)}"]
        scope.bind(name, Thing("call", ("{0}()",), cost=1 + frame.cost))
        self.changers.append((name, bound))
        return [f"def {name}():", *indent(lines)]

    def nonlocal_(self, scope: Scope) -> list[str]:
        """A function that binds a variable of the function around."""
        names = [
            name
            for name, bound in sorted(scope.names.items())
            if bound.frame is scope.frame and bound.thing.kind == "int" and name in scope.frame.planned
        ]
        name = self.target(scope, Thing("call", ()))
        names = [n for n in names if n != name and n not in scope.frame.declared]
        if scope.frame.kind != "function" or not names or name is None:
            return []
        bound, parameter = self.rng.choice(names), self.pick(*names)
        scope.frame.captured.add(bound)
        frame = Frame("function", frozenset({bound, parameter}), declared={bound}, parent=scope.frame)
        inner = scope.function(frame)
        inner.names[bound] = scope.names[bound]
        inner.bind(parameter, NUMBER)
        lines = [f"nonlocal {bound}", f"{bound} += {self.number(inner)}", f"return {bound}"]
        scope.bind(name, Thing("call", ("{0}({n})",), cost=1 + frame.cost))
        return [f"def {name}({parameter}):", *indent(lines)]

    def local_function(self, scope: Scope) -> list[str]:
        if self.deferred > 2:
            return []
        thing = Thing("call", ("{0}({n})",))
        name = self.target(scope, thing)
        return self.function(name, scope, 1) if name is not None else []

    def local_class(self, scope: Scope) -> list[str]:
        if self.deferred > 2:
            return []
        name = self.target(scope, Thing("class", ()))
        return self.class_(name, scope) if name is not None else []

    def local_import(self, scope: Scope) -> list[str]:
        return self.import_inside(scope)

    def external_import(self, scope: Scope) -> list[str]:
        """An import of the standard library under a name of the pool."""
        statement, use = self.rng.choice(EXTERNAL)
        thing = Thing("call", (use,))
        if "{0}" not in statement:
            name: str | None = statement.split()[1].split(".")[0]
            if scope.frame.kind == "function":
                return []
        else:
            name = self.target(scope, thing)
        if name is None:
            return []
        scope.bind(name, thing)
        return [statement.format(name)]

    # Blocks

    def block(self, scope: Scope, depth: int) -> list[str]:
        """The inside of a block."""
        lines = [f"# {self.fresh()}", *self.show(scope)]
        for _ in range(self.rng.randrange(2)):
            lines += self.statement(scope, depth)
        return lines

    def condition(self, scope: Scope) -> list[str]:
        """An `if`, with a chance of `elif` and `else`; knobs may decide each test."""
        lines: list[str] = []
        blocks: list[Scope] = []
        for word in ["if", *["elif"] * self.rng.randrange(3)]:
            blocks.append(scope.block())
            lines += [f"{word} {self.test(scope)}:", *indent(self.block(blocks[-1], 1))]
        if self.rng.random() < 0.5:
            blocks.append(scope.block())
            lines += ["else:", *indent(self.block(blocks[-1], 1))]
        for block in blocks:
            scope.leave(block)
        return lines

    def loop(self, scope: Scope) -> list[str]:
        """A `for`, with a chance of `break` and `else`."""
        source, name = self.number(scope), self.target(scope, NUMBER)
        if name is None:
            return []
        block = scope.block()
        block.bind(name, NUMBER)
        lines = [f"for {name} in range({source} % 3):", *indent(self.block(block, 0))]
        scope.leave(block)
        if name in scope.names and name not in block.names:
            del scope.names[name]
        if self.rng.random() < 0.4:
            lines += indent([f"if {self.test(scope)}:", f"    {self.rng.choice(['break', 'continue'])}"])
            other = scope.block()
            lines += ["else:", *indent(self.block(other, 0))]
            scope.leave(other)
        return lines

    def while_(self, scope: Scope) -> list[str]:
        name = self.target(scope, NUMBER)
        if name is None:
            return []
        scope.bind(name, NUMBER)
        block = scope.block()
        shown = self.show(block)
        lines = [f"{name} = {self.fresh() % 4}", f"while {name} > 0:", *indent([f"{name} -= 1", *shown])]
        return [*lines, "else:", *indent(self.show(scope))] if self.rng.random() < 0.5 else lines

    def try_(self, scope: Scope) -> list[str]:
        """An exception raised and caught; its name is unbound behind the handler."""
        own = [name for name, _ in scope.things("exception")]
        kind = scope.read(self.rng.choice(own)) if own and self.rng.random() < 0.7 else self.rng.choice(RAISED)
        name = self.target(scope, EXCEPTION)
        inside, handler = scope.block(), scope.block()
        lines = ["try:", *indent(self.show(inside)), *indent([f"raise {kind}({self.number(inside)})"])]
        raised = Thing("error", ("{0}.args[0]",))
        if name is not None and name not in scope.frame.captured:
            handler.bind(name, raised)
            handled = [f"print({self.fresh()}, {name}.args[0], {self.number(handler)})"]
            lines += [f"except {kind} as {name}:", *indent([*handled, *self.block(handler, 0)])]
            handler.names.pop(name, None)
            scope.names.pop(name, None)
        else:
            lines += [f"except ({kind}, OSError):", *indent(self.block(handler, 0))]
        scope.leave(handler)
        if self.rng.random() < 0.4:
            final = scope.block()
            lines += ["finally:", *indent(self.block(final, 0))]
            scope.leave(final)
        return lines

    def with_(self, scope: Scope) -> list[str]:
        value, name = self.number(scope), self.target(scope, NUMBER)
        if name is None:
            return []
        scope.bind(name, NUMBER)
        block = scope.block()
        lines = [f"with held({value}) as {name}:", *indent(self.block(block, 0))]
        scope.leave(block)
        return lines

    def match(self, scope: Scope) -> list[str]:
        """A `match` over numbers (with captures) or over a knob."""
        if scope.config and self.rng.random() < 0.6:
            lines = [f"match {self.rng.choice(['config.kind', 'config.depth', 'config.flag'])}:"]
            for pattern in [*self.rng.sample(['"nki"', "0 | 1", "2", "True", "None", '"torch" | "x"'], 3), "_"]:
                block = scope.block()
                lines += indent([f"case {pattern}:", *indent(self.block(block, 0))])
                scope.leave(block)
            return lines
        one, other = self.target(scope, NUMBER), self.target(scope, NUMBER)
        if one is None or other is None or one == other or {one, other} & scope.frame.captured:
            return []
        subject, case = self.rng.choice(
            [
                ("({0}, {1}, 3)", "({one}, *{other})"),
                ("[{0}, {1}]", "[{one}, {other}]"),
                ('{{"k": {0}, "l": {1}}}', '{{"k": {one}, **{other}}}'),
                ("{0}", "int({one})"),
                ("({0}, {1})", "({one}, 1) | (1, {one})"),
                ("complex({0}, 1)", "complex(real={one}, imag={other})"),
                ("{0}", "int() as {one}"),
                ("({0}, {1})", "({one}, {other}) if {one} > {other}"),
            ]
        )
        lines = [f"match {subject.format(self.number(scope, 1), self.number(scope, 1))}:"]
        block = scope.block()
        block.bind(one, Thing("value", ()))
        block.names.pop(other, None)
        lines += indent([f"case {case.format(one=one, other=other)}:", f"    print({self.fresh()}, {one})"])
        rest = scope.block()
        lines += indent(["case _:", *indent(self.block(rest, 0))])
        scope.leave(block)
        scope.leave(rest)
        for name in (one, other):
            scope.frame.others.add(name)
            scope.names.pop(name, None)
        return lines

    # Written in the modules that build on this one

    def function(self, name: str, scope: Scope, depth: int) -> list[str]:
        raise NotImplementedError

    def class_(self, name: str, scope: Scope) -> list[str]:
        raise NotImplementedError

    def import_inside(self, scope: Scope) -> list[str]:
        raise NotImplementedError

"""What generated code can read where it stands: by Python's own rules of scopes, so that programs run without errors.

A frame is one body of code (module, function, class); it decides before its first line which names it will bind. A
scope is what can be read at one place in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

# A small pool, so that modules, parameters, locals, members, imports and builtins collide all the time.
POOL = ("a", "b", "c", "norm", "max", "len", "Block", "m1", "step", "x", "_a")


@dataclass(frozen=True)
class Thing:
    """Something that has a name. `uses` are expressions of a number: `{0}` is the thing, `{n}` any number.

    `cost` bounds how long a use runs: functions that call functions that call functions double the time each.
    """

    kind: str  # int, call, class, exception, decorator, module
    uses: tuple[str, ...]
    cost: int = 1
    module: int = -1  # of a module: its number


NUMBER = Thing("int", ("{0}",))
EXCEPTION = Thing("exception", ("{0}({n}).args[0]",))
CEILING = 60


@dataclass(eq=False)
class Frame:
    """One body of code, and the names that it binds (`planned`) or that functions inside of it have read."""

    kind: str  # module, function or class
    planned: frozenset[str] = frozenset()
    captured: set[str] = field(default_factory=set)
    declared: set[str] = field(default_factory=set)  # by `global` or `nonlocal`
    modules: set[str] = field(default_factory=set)  # names that stand for modules, and so for nothing else
    others: set[str] = field(default_factory=set)  # names that stand for anything else
    cost: int = 1
    parent: Frame | None = None


@dataclass(frozen=True)
class Bound:
    """A thing and the frame whose variable it is in."""

    thing: Thing
    frame: Frame


class Scope:
    """The names that can be read at one place."""

    def __init__(
        self,
        frame: Frame,
        names: dict[str, Bound],
        module: Scope | None = None,
        around: Scope | None = None,
        config: bool = False,
        hidden: frozenset[str] = frozenset(),
    ) -> None:
        self.frame = frame
        self.names = names
        self.module = module or self
        self.around = around  # of a class: the scope that its functions see instead
        self.config = config  # whether `config` is a parameter here
        self.hidden = hidden  # names bound by comprehensions around: a walrus may not bind them
        self.nested = False  # whether this is a block inside of its body

    def things(self, *kinds: str) -> list[tuple[str, Thing]]:
        """What can be read, of some kinds."""
        return [(name, b.thing) for name, b in sorted(self.names.items()) if b.thing.kind in kinds]

    def read(self, name: str) -> str:
        """Note that code reads a name; returns it."""
        bound = self.names[name]
        if bound.frame is not self.frame:
            bound.frame.captured.add(name)
        self.frame.cost += bound.thing.cost
        return name

    def builtin(self, name: str) -> bool:
        """Whether a name of the pool means the builtin here, and will go on to do so."""
        frame: Frame | None = self.frame
        while frame is not None:
            if name in frame.planned and (frame.kind == "function" or (frame is self.frame and frame.kind == "class")):
                return False
            frame = frame.parent
        if name in self.names or name in self.module.names:
            return False
        self.module.frame.captured.add(name)
        return True

    def bind(self, name: str, thing: Thing) -> None:
        """The code above has bound a name."""
        self.names[name] = Bound(thing, self.frame)
        (self.frame.modules if thing.kind == "module" else self.frame.others).add(name)

    def block(self) -> Scope:
        """The inside of a block of the same body."""
        inner = Scope(self.frame, dict(self.names), self.module_for_block(), self.around, self.config, self.hidden)
        inner.nested = True
        return inner

    def module_for_block(self) -> Scope | None:
        """A block at a module's top reads the module's names through the module itself."""
        return None if self.module is self else self.module

    def leave(self, block: Scope) -> None:
        """Behind a block that may not have run, or may have unbound names: what was bound before and still is."""
        self.names = {name: bound for name, bound in self.names.items() if block.names.get(name) == bound}

    def outer(self) -> Scope:
        """The scope that a function written here sees around it."""
        return self.around.outer() if self.around else self

    def function(self, frame: Frame) -> Scope:
        """The start of a function's body: all that it will bind cannot be read yet."""
        outer = self.outer()
        names = {name: bound for name, bound in outer.names.items() if name not in frame.planned}
        return Scope(frame, names, outer.module, None, outer.config and "config" not in frame.planned)

    def class_body(self, frame: Frame) -> Scope:
        """The start of a class body: a name that it will bind is the module's until then, never a function's."""
        outer = self.outer()
        names = {name: bound for name, bound in outer.names.items() if name not in frame.planned}
        names |= {name: bound for name, bound in outer.module.names.items() if name in frame.planned}
        return Scope(frame, names, outer.module, outer, outer.config)

    def comprehension(self, *names: str) -> Scope:
        """The inside of a comprehension or lambda, whose variables hold numbers."""
        outer = self.outer()
        inside = {**outer.names, **{name: Bound(NUMBER, outer.frame) for name in names}}
        return Scope(outer.frame, inside, outer.module, None, outer.config, self.hidden | frozenset(names))

    def can_bind(self, name: str, thing: Thing) -> bool:
        """Whether binding a name here keeps earlier readers working."""
        old = self.names.get(name)
        if self.frame.kind == "class":
            return True
        if self.frame.kind == "function" and name not in self.frame.planned:
            return False
        if name in (self.frame.others if thing.kind == "module" else self.frame.modules):
            return False  # a module's name that is bound again is refused, by design
        if name not in self.frame.captured:
            return True
        return old is not None and old.thing.kind == "int" and thing.kind == "int"

"""What may stand under `if __name__ == "__main__":`. The contest imports the file and calls its hooks: whatever they
need, and whatever sets up how the program computes, must not be there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from builder import trees
from builder.bindings import Bindings, Variable
from builder.effects import PURE_CALLS, Effects
from builder.errors import Problem
from builder.link import Linker
from builder.scan import Part

# Calls of packages that leave nothing behind which a model computed later could notice, by dotted name or prefix.
HARMLESS = frozenset(
    {
        "numpy.random.seed",
        "torch.arange",
        "torch.empty",
        "torch.full",
        "torch.load",
        "torch.manual_seed",
        "torch.ones",
        "torch.rand",
        "torch.randint",
        "torch.randn",
        "torch.save",
        "torch.tensor",
        "torch.zeros",
    }
)
HARMLESS_UNDER = (
    "torch.cuda.",
    "torch.distributed.",
    "torch.nn.",
    "torch.optim.",
    "torch.profiler.",
    "torch.utils.data.",
)


def problems(part: Part, hooks: Iterable[str], acting: list[Part], linker: Linker, effects: Effects) -> list[Problem]:
    """Every place in the block (a part of the entry) without which the imported file is another program.

    `acting` are the other kept parts that do something when the file is imported.
    """
    return [*_Block(part, linker, effects).setting_up(), *_shared(part, hooks, acting, linker)]


class _Block:
    def __init__(self, part: Part, linker: Linker, effects: Effects) -> None:
        self.part = part
        self.module = part.module
        self.linker = linker
        self.effects = effects
        self.bound = {name for name, _ in _bound(part, linker)}

    def setting_up(self) -> list[Problem]:
        """Statements that change what is outside of the block."""
        assert isinstance(self.part.node, ast.If)
        found: list[tuple[ast.Call | ast.Attribute | ast.Subscript, str]] = []
        for node in (node for statement in self.part.node.body for node in trees.nodes(statement)):
            if isinstance(node, ast.Call):
                path = self.effects.path(node.func, self.module)
                if not self.is_harmless(path):
                    found.append((node, f"`{path}(...)`"))
            elif isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
                root = _root(node)
                if not (isinstance(root, ast.Name) and root.id in self.bound):
                    found.append((node, f"`{ast.unparse(node)} = ...`"))
        return [
            self.module.problem(
                self.module.source.start(node),
                "BLD024",
                f"{what} runs only when the file is the main program, and is absent when the contest imports it",
                "move it to the top of the module, or into a function that the contest's hooks call too",
            )
            for node, what in found
            if not self.linker.rewrites[self.module.name].is_dead(self.module.source.start(node))
        ]

    def is_harmless(self, path: str) -> bool:
        """Whether a call of something from outside leaves nothing behind; "" is a call of the recipe's own."""
        top = path.split(".")[0]
        if "." not in path:
            return path not in ("setattr", "delattr")
        return top in self.effects.standard or path in HARMLESS or path in PURE_CALLS or path.startswith(HARMLESS_UNDER)


def _shared(part: Part, hooks: Iterable[str], acting: list[Part], linker: Linker) -> list[Problem]:
    """Names that the block binds and code reads that runs when the file is imported and its hooks are called."""
    bindings = linker.bindings
    waiting = list(acting)
    for hook in hooks:
        meaning = bindings.variable(part.module, hook)
        if isinstance(meaning, Variable):
            waiting += _binders(meaning, bindings)
    readers: dict[str, Part] = {}
    seen: set[Part] = {part}
    while waiting:
        reader = waiting.pop()
        if reader in seen:
            continue
        seen.add(reader)
        for variable in sorted(linker.links(reader).variables):
            if variable.module == part.module.name:
                readers.setdefault(variable.name, reader)
            waiting += _binders(variable, bindings)
    found = []
    for name, offset in _bound(part, linker):
        if name in readers:
            reader = readers.pop(name)
            message = (
                f"`{name}` is bound here only when the file is the main program, and "
                f"{reader.module.source.name}:{reader.line} reads it, also when the contest imports the file"
            )
            remedy = "bind it at the top of the module, or pass it to the function that reads it"
            found.append(part.module.problem(offset, "BLD024", message, remedy))
    return found


def _binders(variable: Variable, bindings: Bindings) -> list[Part]:
    return [bindings.modules[variable.module].parts[index] for index in bindings.binders(variable)]


def _bound(part: Part, linker: Linker) -> list[tuple[str, int]]:
    """Names of the module that a part binds, with the places."""
    return [
        (occurrence.name, occurrence.start)
        for occurrence in linker.live(part)
        if occurrence.kind in ("store", "definition", "import", "delete") and occurrence.home() is part.module.scope
    ]


def _root(node: ast.AST) -> ast.AST:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node

"""Which parts of a program knobs other than the config's can have to do with: those that read the environment, the
command line or what is known of the machine, those that use what such parts define, and functions that they call.
"""

from __future__ import annotations

import ast

from builder.bindings import Variable
from builder.facts import Facts
from builder.scan import Module, Part

SOURCES = (
    "os.environ",
    "os.getenv",
    "sys.argv",
    "sys.version_info",
    "sys.platform",
    "sys.byteorder",
    "os.name",
    "typing.TYPE_CHECKING",
    "argparse.",
)


def concerned(facts: Facts) -> set[Part]:
    """The parts that freezing has to look at."""
    found: set[Part] = set()
    waiting: list[tuple[Module, Part]] = []

    def add(module: Module, index: int) -> None:
        part = module.parts[index]
        if part not in found:
            found.add(part)
            waiting.append((module, part))

    for module in facts.program.modules.values():
        for occurrence in module.scope.occurrences:
            if occurrence.kind == "load" and facts.bindings.outside_path(module, occurrence).startswith(SOURCES):
                add(module, occurrence.part)
    for variable in facts.constants:
        module = facts.program.modules[variable.module]
        for index in facts.bindings.binders(variable):
            add(module, index)
    while waiting:
        module, part = waiting.pop()
        for occurrence in module.by_part.get(part.index, []):
            if occurrence.kind in ("store", "definition") and occurrence.home() is module.scope:
                for home, use in facts.uses(Variable(module.name, occurrence.name)):
                    add(home, use.part)
            elif occurrence.kind == "load":
                called = _called(facts, module, part, occurrence.node)
                if called is not None:
                    for index in facts.bindings.binders(called):
                        add(facts.program.modules[called.module], index)
    return found


def _called(facts: Facts, module: Module, part: Part, node: ast.AST) -> Variable | None:
    """The function of the recipe that is called with arguments where a name stands."""
    occurrence = module.by_node[node]
    reference = facts.bindings.of(module, occurrence)
    if reference is None or not isinstance(reference.meaning, Variable):
        return None
    call = facts.call_of(module, occurrence)
    return reference.meaning if call is not None and (call.args or call.keywords) else None

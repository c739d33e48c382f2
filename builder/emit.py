"""Phase 5, print: the artifact's text, from real source, and for every line of it the place that it came from.

docstring | from __future__ | imports from outside | one section per module, in the order in which Python would run them
"""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import dataclass, field

from builder import hints, licences
from builder.bindings import Outside, Variable
from builder.edits import Edit, Line, Quote, Renderer
from builder.late import bound_names
from builder.names import Names
from builder.rewrite import Rewrite
from builder.scan import Import, Module, Part, Program
from builder.shake import Kept, Shaker
from builder.shown import DEFINITIONS

WIDTH = 120
Place = tuple[str, int] | None
SKIPPED_COMMENT = re.compile(r"#(!|.*coding[:=])")


@dataclass
class Output:
    """The artifact's lines and their places."""

    lines: list[str] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    ranges: dict[Part, tuple[int, int]] = field(default_factory=dict)  # lines (0-based, end excluded) of each part
    header: set[int] = field(default_factory=set)  # comment lines (0-based) that stay: licences, origins of sections
    importers: set[int] = field(default_factory=set)  # lines (1-based) of the functions that run late modules
    indent: str = ""

    def add(self, text: str, place: Place = None, inside: bool = False) -> None:
        """Append one line; `inside`: it begins inside of a string, and so is not indented."""
        self.lines.append(self.indent + text if text and not inside else text)
        self.places.append(place)

    @property
    def text(self) -> str:
        """The file's text."""
        return "\n".join(self.lines) + "\n"


def emit(
    program: Program,
    kept: Kept,
    names: Names,
    rewrites: dict[str, Rewrite],
    shaker: Shaker,
    facts: list[str],
    written: set[ast.expr],
) -> Output:
    """Print the artifact. `facts` are the paragraphs of its docstring behind the entry's own; `written` are the
    annotations of dataclass fields, which are as they must be.
    """
    return _Printer(program, kept, names, rewrites, shaker, written).run(facts)


class _Printer:
    def __init__(
        self,
        program: Program,
        kept: Kept,
        names: Names,
        rewrites: dict[str, Rewrite],
        shaker: Shaker,
        written: set[ast.expr],
    ) -> None:
        self.program = program
        self.kept = kept
        self.names = names
        self.rewrites = rewrites
        self.shaker = shaker
        self.written = written
        self.licence_lines: dict[Module, frozenset[int]] = {}
        self.out = Output()
        self.renderers: dict[str, Renderer] = {}
        self.late = shaker.late_imports(kept)

    def run(self, facts: list[str]) -> Output:
        self.docstring(facts)
        self.licences()
        future, quoted = hints.mode(self.kept.parts, bool(self.written))
        if future:
            self.out.add("")
            self.out.add("from __future__ import annotations")
        for name in quoted:
            self.quote_annotations(self.program.modules[name])
        self.imports()
        self.sections()
        ends = {module.source.name: module.source.own_lines for module in self.program.modules.values()}
        self.out.places = [place and (place[0], min(place[1], ends[place[0]])) for place in self.out.places]
        return self.out

    def docstring(self, facts: list[str]) -> None:
        own = ast.get_docstring(self.program.entry.tree) or f"Built from {self.program.entry.source.name}."
        text = "\n\n".join([own, *facts]).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
        if text.endswith('"'):
            text += " "
        lines = ('"""' + text + "\n" + '"""').split("\n")
        for line in lines:
            self.out.add(line.rstrip())

    def licences(self) -> None:
        """The licences of the code in the file, each with the files that carry it."""
        kept = dict.fromkeys(part.module for part in self.kept.parts)
        for module, files in licences.carriers(self.program, kept):
            self.out.add("")
            for text in textwrap.wrap(", ".join(files) + ":", WIDTH - 2, break_on_hyphens=False):
                self.comment(f"# {text}", None)
            for text, line in licences.licence(module):
                self.comment(text, (module.source.name, line))

    def comment(self, text: str, place: Place) -> None:
        """A comment that also stays where all others go."""
        self.out.header.add(len(self.out.lines))
        self.out.add(text, place)

    # Imports

    def imports(self) -> None:
        groups: tuple[list[tuple[str, Place]], list[tuple[str, Place]]] = ([], [])
        members: dict[str, list[str]] = {}
        own = [("functools", "cache", self.names.cache), ("typing", "TYPE_CHECKING", self.names.typing)]
        for module, name, final in own:
            if final:
                groups[0].append((module, None))
                members[module] = [name if final == name else f"{name} as {final}"]
        done: set[str] = set()
        wanted: list[tuple[Import, Outside | None]] = []
        for outside_name, imports in self.kept.outside.items():
            wanted += [(found, outside_name) for found in imports]
        wanted += [(found, None) for found in self.kept.bare]
        order = {id(found): i for i, part in enumerate(self.shaker.linker.order) for found in part.imports}
        for found, outside in sorted(wanted, key=lambda pair: order[id(pair[0])]):
            if found in self.late or found in self.kept.typing:
                continue
            place = self.place(found)
            group = groups[0] if self.shaker.is_standard(module_of(found)) else groups[1]
            if isinstance(found.statement, ast.ImportFrom) and outside is not None:
                module = module_of(found)
                if module not in members:
                    members[module] = []
                    group.append((module, place))
                member = self.member(found, outside)
                if member not in members[module]:
                    members[module].append(member)
            else:
                of = f"from {module_of(found)} " if isinstance(found.statement, ast.ImportFrom) else ""
                line = f"{of}import {self.member(found, outside)}"
                if outside is None:
                    line += self.comment_behind(found)
                if line not in done:
                    done.add(line)
                    group.append((line, place))
        groups[0].sort(key=lambda item: (not item[0].startswith("import "), item[0]))  # theirs is free of effects
        for group in groups:
            if group:
                self.out.add("")
            for line, place in group:
                for text in _from_import(line, members[line]) if line in members else [line]:
                    self.out.add(text, place)
        self.typing_imports()

    def typing_imports(self) -> None:
        """Imports for type checkers alone, of what the contest's machine lacks: under a condition never true."""
        lines: dict[str, Place] = {}
        for outside, imports in self.kept.outside.items():
            if imports[0] in self.kept.typing:
                member = self.member(imports[0], outside)
                of = f"from {module_of(imports[0])} " if isinstance(imports[0].statement, ast.ImportFrom) else ""
                lines[f"    {of}import {member}"] = self.place(imports[0])
        if lines:
            self.out.add("")
            self.out.add(f"if {self.names.typing}:")
            for line in sorted(lines):
                self.out.add(line, lines[line])

    def member(self, found: Import, outside: Outside | None) -> str:
        final = self.names.final[outside] if outside is not None and outside in self.names.final else found.bound
        name = found.alias.name
        plain = name if isinstance(found.statement, ast.ImportFrom) else name.split(".")[0]
        if final == plain and not (found.alias.asname and "." in name):
            return name
        if plain != name and not found.alias.asname:  # `import os.path` binds os: under another name, it takes two
            return f"{plain} as {final}, {name} as {self.spare(final + '_' + name.rpartition('.')[2])}"
        return f"{name} as {final}"

    def spare(self, name: str) -> str:
        """A name that nothing in the artifact has."""
        while name in {*self.names.final.values(), *self.names.aliases.values()}:
            name += "_module"
        return name

    def comment_behind(self, found: Import) -> str:
        """The comment on the line of an import that is there for its effect: it says so, and for which, if known."""
        source = self.shaker.home(found).source
        end = source.end(found.statement)
        comment = source.text[end : source.line_end(end)].strip()
        if "noqa" in comment:
            return f"  {comment}"
        return f"  # noqa: F401  ({comment.lstrip('# ') or 'imported for its effect'})"

    def place(self, found: Import) -> Place:
        module = self.shaker.home(found)
        return module.source.name, module.source.line(module.source.start(found.statement))

    # Sections

    def sections(self) -> None:
        current: Module | None = None
        fresh, behind = True, False  # at the beginning of a section; behind the function of a late module
        begun: set[str] = set()
        inside: dict[Module, list[Part]] = {}
        for part in self.kept.parts:
            if part in self.shaker.late.inside:
                inside.setdefault(part.module, []).append(part)
        for part in self.kept.parts:
            if part in self.shaker.late.inside:
                if part is not inside[part.module][-1]:
                    continue
                if part.module is not current:
                    current = part.module
                    self.header(current, current.name in begun)
                    begun.add(current.name)
                behind = False
                self.importer(part.module, inside[part.module])
                fresh = behind = True
                continue
            late = [found for found in part.imports if found in self.late]
            if not late and isinstance(part.node, (ast.Import, ast.ImportFrom)) and not self.is_written(part):
                continue
            if part.module is not current:
                current = part.module
                self.header(current, current.name in begun)
                begun.add(current.name)
                fresh, behind = True, False
            if behind and not isinstance(part.node, DEFINITIONS):
                self.out.add("")
            if late:
                for found in late:
                    self.late_import(found)
            else:
                self.part(part, fresh)
            fresh = behind = False

    def importer(self, module: Module, parts: list[Part]) -> None:
        """The function that runs what of a module runs late."""
        self.out.add("")
        self.out.add("")
        self.out.add(f"@{self.names.cache}")
        self.out.add(f"def {self.names.importers[module.name]}():", (module.source.name, 1))
        self.out.importers.add(len(self.out.lines))
        self.out.indent = "    "
        self.out.add(f'"""What {module.source.name} does when it is first imported."""')
        names = self.bound(parts)
        for line in textwrap.wrap(", ".join(names), WIDTH - 12, break_long_words=False, break_on_hyphens=False):
            self.out.add(f"global {line.rstrip(',')}")
        for part in parts:
            late = [found for found in part.imports if found in self.late]
            for found in late:
                self.late_import(found)
            if not late and (not isinstance(part.node, (ast.Import, ast.ImportFrom)) or self.is_written(part)):
                self.part(part, False)
        self.out.indent = ""

    def bound(self, parts: list[Part]) -> list[str]:
        """The names of the file that parts bind while they run."""
        final, bindings = self.names.final, self.shaker.bindings
        outside = {found: symbol for symbol, imports in self.kept.outside.items() for found in imports}
        names: dict[str, None] = {}
        for part in parts:
            for found in part.imports:
                if found in outside and found in self.late:
                    names[final[outside[found]]] = None
            for occurrence in bound_names(self.shaker.linker, part):
                symbol = bindings.variable(part.module, occurrence.name)
                if isinstance(symbol, Variable) and symbol in final:
                    names[final[symbol]] = None
                    if symbol in self.names.aliases:
                        names[symbol.name if symbol in self.names.covered else self.names.aliases[symbol]] = None
                elif isinstance(symbol, Outside) and occurrence.kind == "import" and symbol in final:
                    names[final[symbol]] = None
        return list(names)

    def is_written(self, part: Part) -> bool:
        """Whether an import statement stays in its place: as an assignment, or because its name is bound elsewhere
        too.
        """
        rewrite = self.rewrites[part.module.name]
        written = rewrite.statements.get(part.node)
        if written is not None:
            return any(isinstance(statement, (ast.Assign, ast.Expr)) for statement in written)
        bindings = self.shaker.bindings
        return any(
            bindings.variable(part.module, found.bound) == Variable(part.module.name, found.bound)
            for found in part.imports
            if found.alias.name != "*"
        )

    def header(self, module: Module, again: bool) -> None:
        self.out.add("")
        self.out.add("")
        origin = f"# ==== {module.source.name}{' (continued)' if again else ''} ===="
        self.comment(origin, (module.source.name, 1))
        if again:
            return
        for number in _top_comment(module):
            self.out.add(module.source.line_text(number), (module.source.name, number))
        docstring = ast.get_docstring(module.tree)
        if docstring and module is not self.program.entry:
            first, (begin, end) = module.tree.body[0].lineno, licences.docstring_lines(module)
            lines = list(enumerate(docstring.split("\n")))
            if begin < end:
                begin -= bool(begin)  # and the blank line above
                lines = [*lines[:begin], *(lines[end:] if begin else lines[end + 1 :])]
            for i, line in lines:
                self.out.add(f"# {line}".rstrip(), (module.source.name, first + i))

    def late_import(self, found: Import) -> None:
        """An import that must not run before the statements above it."""
        outside = next((o for o, imports in self.kept.outside.items() if found in imports), None)
        member = self.member(found, outside)
        text = (
            f"from {module_of(found)} import {member}"
            if isinstance(found.statement, ast.ImportFrom)
            else f"import {member}"
        )
        self.out.add(text, self.place(found))

    def renderer(self, module: Module) -> Renderer:
        if module.name not in self.renderers:
            self.renderers[module.name] = Renderer(module.source, self.rewrites[module.name].edits)
        return self.renderers[module.name]

    def part(self, part: Part, fresh: bool) -> None:
        source = part.module.source
        name = source.name
        head = source.text[part.head : max(part.head, source.line_start(part.start))]
        comments = head.split("\n")[:-1] if head else []
        line = source.line(part.head)
        places: list[Place] = [(name, line + i) for i in range(len(comments))]
        if part.module not in self.licence_lines:
            self.licence_lines[part.module] = licences.comment_lines(part.module)
        shown = {*(_top_comment(part.module) if line == 1 else []), *self.licence_lines[part.module]}
        left = [i for i in range(len(comments)) if line + i not in shown]
        comments, places = [comments[i] for i in left], [places[i] for i in left]
        while comments and ((fresh and not comments[0].strip()) or (line == 1 and SKIPPED_COMMENT.match(comments[0]))):
            comments.pop(0)
            places.pop(0)
        if fresh:
            is_definition = isinstance(part.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            for _ in range(2 if is_definition and not comments else 1):
                self.out.add("")
        blank = _blank_behind(self.out.lines)
        for text, place in zip(comments, places, strict=True):
            blank = blank + 1 if not text.strip() else 0
            if blank <= 2:
                self.out.add(text.rstrip(), place if text.strip() else None)
        begin = len(self.out.lines)
        self.body(part)
        self.out.ranges[part] = (begin, len(self.out.lines))
        self.second_names(part)

    def body(self, part: Part) -> None:
        source = part.module.source
        rendered = self.renderer(part.module).render(part.start, part.tail)
        for line in _tidy(rendered):
            place = (source.name, line.origin) if line.origin and line.text.strip() else None
            self.out.add(line.text, place, line.inside)

    def second_names(self, part: Part) -> None:
        """Names of definitions whose first one a parameter or class member hides somewhere, or another definition
        takes.
        """
        if not isinstance(part.node, DEFINITIONS):
            return
        variable = Variable(part.module.name, part.node.name)
        second = self.names.aliases.get(variable)
        if second is None:
            return
        place = (part.module.source.name, part.line)
        covered = variable in self.names.covered
        first = variable.name if covered else self.names.final[variable]
        why = f"another `{first}` is used too" if covered else f"for where another `{first}` hides it"
        self.out.add("")
        self.out.add("")
        self.out.add(f"{second} = {first}  # {why}", place)
        if self.names.covered.get(variable):
            self.out.add(f"del {first}", place)

    def quote_annotations(self, module: Module) -> None:
        """Annotations that were strings under `from __future__ import annotations` are written as strings."""
        rewrite = self.rewrites[module.name]
        for part in self.kept.parts:
            if part.module is module:
                for node in [node for node in hints.stored(part.node) if node not in self.written]:
                    start, end = module.source.start(node), module.source.end(node)
                    # Members of a union may be gone, the first one too, and the annotation stay.
                    alive = any(not rewrite.is_dead(module.source.start(one)) for one in hints.members(node))
                    if alive:  # first: what it quotes may itself have been rewritten
                        rewrite.edits.insert(0, Edit(start, end, (Quote(start, end),)))
                        rewrite.quoted.add(node)


def _top_comment(module: Module) -> list[int]:
    """Lines of the comment block at the very top of a file, when it belongs to the file and not to a statement; no
    licence.
    """
    source = module.source
    line = 1
    while line <= source.lines and source.line_text(line).startswith("#"):
        line += 1
    first = module.tree.body[0] if module.tree.body else None
    at_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and first.lineno == line
    if line <= source.lines and source.line_text(line).strip() and not at_docstring:
        return []
    licence = licences.comment_lines(module)
    return [i for i in range(1, line) if i not in licence and not SKIPPED_COMMENT.match(source.line_text(i))]


def _tidy(lines: list[Line]) -> list[Line]:
    """At most two blank lines in a row, no blanks at a line's end where an edit left some; strings untouched."""
    tidied: list[Line] = []
    for i, line in enumerate(lines):
        ends_inside = i + 1 < len(lines) and lines[i + 1].inside
        if not line.inside and not ends_inside and not line.text.strip():
            line.text = ""
            if len(tidied) >= 2 and not tidied[-1].text and not tidied[-2].text and not tidied[-1].inside:
                continue
        tidied.append(line)
    return tidied


def _blank_behind(lines: list[str]) -> int:
    count = 0
    while count < len(lines) and not lines[-1 - count].strip():
        count += 1
    return count


def _member_order(member: str) -> tuple[int, str, str]:
    """Constants, then classes, then the rest, each by name, as isort has it. It has no effect on what runs."""
    name = member.split(" ")[0]
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, name.lower(), member


def _from_import(module: str, members: list[str]) -> list[str]:
    members = sorted(members, key=_member_order)
    line = f"from {module} import {', '.join(members)}"
    if len(line) <= WIDTH:
        return [line]
    return [
        f"from {module} import (",
        *textwrap.wrap(", ".join(members) + ",", WIDTH - 4, initial_indent="    ", subsequent_indent="    "),
        ")",
    ]


def module_of(found: Import) -> str:
    """The module that an import statement names."""
    return found.alias.name if isinstance(found.statement, ast.Import) else found.statement.module or ""

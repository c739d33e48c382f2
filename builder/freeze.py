"""Phase 2, freeze: replace every read of a knob by its value, take the config object out of all signatures, fold what that decides.

    def make_norm(config: Config) -> nn.Module:         def make_norm() -> nn.Module:
        if config.norm == "nki":                            return NkiNorm(128, 1e-06)
            return NkiNorm(config.width, config.eps)
        return TorchNorm(config.width, config.eps)

A config may be a parameter annotated with the config class, or a local variable made from one or from the loader. Reading a field
of it and passing it on to such a parameter are all that can be done with it; anything else is refused where the code is kept.
Arithmetic stays as it is written; folded are branches, conditional expressions, boolean operators and comparisons.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

from builder import strings, values
from builder.bindings import Bindings, Variable
from builder.edits import Edit, Piece, Span
from builder.knobs import Config
from builder.rewrite import Rewrite
from builder.scan import Module, Program
from builder.scopes import Occurrence, Scope

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Key = tuple[Scope, str]
ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
HOW = "read its fields, or pass it to a parameter annotated with the config class; nothing else can be frozen"
TIGHT = (ast.BinOp, ast.UnaryOp, ast.Await)


def freeze(program: Program, bindings: Bindings, config: Config | None) -> dict[str, Rewrite]:
    """Decide what each module's code becomes under the frozen config."""
    rewrites = {name: Rewrite() for name in program.modules}
    configs = _Configs(program, bindings)
    configs.find_imports()
    if config is not None:
        configs.find()
    for module in program.modules.values():
        for part in module.parts:
            if configs.concerns(module, part.index):
                _Freezer(module, rewrites[module.name], bindings, configs, config).part(part.index)
    return rewrites


class _Configs:
    """Which names are configs, and which functions take one."""

    def __init__(self, program: Program, bindings: Bindings) -> None:
        self.program = program
        self.bindings = bindings
        settings = program.settings
        self.class_ = Variable(*settings.config) if settings.config else None
        self.loader = Variable(*settings.loader) if settings.loader else None
        self.names: set[Key] = set()
        self.parts: set[tuple[str, int]] = set()
        self.takers: dict[ast.AST, set[str]] = {}  # function -> its config parameters
        self.methods: dict[str, list[FunctionNode]] = {}

    def concerns(self, module: Module, part: int) -> bool:
        """Whether a part has to do with a config at all."""
        return (module.name, part) in self.parts

    def find(self) -> None:
        for module in self.program.modules.values():
            for occurrence in module.scope.occurrences:
                if occurrence.kind == "parameter":
                    self.parameter(module, occurrence)
                elif (
                    occurrence.kind == "definition"
                    and occurrence.scope.kind == "class"
                    and isinstance(occurrence.node, FunctionNode)
                ):
                    self.methods.setdefault(occurrence.name, []).append(occurrence.node)
        for module in self.program.modules.values():
            self.variables(module)
            for occurrence in module.scope.occurrences:
                if (occurrence.home(), occurrence.name) in self.names or self.is_loader(module, occurrence):
                    self.parts.add((module.name, occurrence.part))

    def find_imports(self) -> None:
        """Parts with an import of the recipe's own modules inside a function."""
        for module in self.program.modules.values():
            self.parts.update((module.name, found.part) for found in module.imports if found.scope.kind == "function")

    def parameter(self, module: Module, occurrence: Occurrence) -> None:
        node = occurrence.node
        assert isinstance(node, ast.arg)
        if node.annotation is not None and self.is_class(module, node.annotation, occurrence.scope):
            self.names.add((occurrence.scope, occurrence.name))
            self.takers.setdefault(occurrence.scope.node, set()).add(node.arg)

    def is_class(self, module: Module, annotation: ast.expr, scope: Scope) -> bool:
        """Whether an annotation is the config class, by name, by attribute or as a string."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            return self.class_ is not None and self.bindings.variable(module, annotation.value) == self.class_
        occurrence = module.by_node.get(_root(annotation))
        if occurrence is None:
            return False
        reference = self.bindings.of(module, occurrence)
        whole = reference is not None and reference.attributes == len(occurrence.attributes)
        return whole and reference is not None and reference.meaning == self.class_

    def is_loader(self, module: Module, occurrence: Occurrence) -> bool:
        if self.loader is None or occurrence.kind != "load":
            return False
        reference = self.bindings.of(module, occurrence)
        return reference is not None and reference.meaning == self.loader

    def variables(self, module: Module) -> None:
        """Local variables every binding of which is a config."""
        assigned: dict[Key, list[ast.expr]] = {}
        for node, occurrence in module.by_node.items():
            if isinstance(node, ast.Name) and occurrence.kind == "store":
                assigned.setdefault((occurrence.home(), occurrence.name), [])
        for part in module.parts:
            for node in _assignments(part.node):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                occurrence = module.by_node.get(target)
                if occurrence is not None and node.value is not None:
                    assigned[(occurrence.home(), occurrence.name)].append(node.value)
        changed = True
        while changed:
            changed = False
            for key, sources in assigned.items():
                scope, name = key
                if (
                    key not in self.names
                    and sources
                    and len(sources) == len(scope.bound[name])
                    and all(self.is_config(module, s) for s in sources)
                ):
                    self.names.add(key)
                    changed = True

    def is_config(self, module: Module, node: ast.expr) -> bool:
        """Whether an expression is the config: a config's name, or a call of the loader."""
        if isinstance(node, ast.Name):
            occurrence = module.by_node.get(node)
            return occurrence is not None and (occurrence.home(), occurrence.name) in self.names
        if isinstance(node, ast.Call):
            occurrence = module.by_node.get(_root(node.func))
            return occurrence is not None and self.is_loader(module, occurrence)
        return False

    def callees(self, module: Module, node: ast.Call) -> list[tuple[ast.AST, int]]:
        """The functions that a call may run, as far as the builder can tell, each with the number of parameters bound before."""
        occurrence = module.by_node.get(_root(node.func))
        if occurrence is not None:
            local = _local_definition(occurrence)
            if local is not None:
                return [(local, 0)]
            reference = self.bindings.of(module, occurrence)
            if (
                reference is not None
                and reference.attributes == len(occurrence.attributes)
                and isinstance(reference.meaning, Variable)
            ):
                definition = self.bindings.definition(reference.meaning)
                if isinstance(definition, FunctionNode):
                    return [(definition, 0)]
                if isinstance(definition, ast.ClassDef):
                    found = self.initializer(self.program.modules[reference.meaning.module], definition)
                    return [(found, 1)] if found else []
        if isinstance(node.func, ast.Attribute):
            methods = self.methods.get(node.func.attr, [])
            if node.func.attr == "__init__":
                methods = self.base_initializer(module, node)
            return [(method, 0 if _is_static(method) else 1) for method in methods]
        return []

    def base_initializer(self, module: Module, node: ast.Call) -> list[FunctionNode]:
        """The `__init__` that `super().__init__(...)` runs."""
        match node.func:
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super") as name, args=[])):
                scope: Scope | None = module.by_node[name].scope
                while scope and scope.kind != "class":
                    scope = scope.parent
                if scope and isinstance(scope.node, ast.ClassDef):
                    found = self.initializer(module, scope.node, inherited=True)
                    return [found] if found else []
        return []

    def initializer(self, module: Module, node: ast.ClassDef, inherited: bool = False) -> FunctionNode | None:
        """The `__init__` of a class, or of its first base in the recipe that has one."""
        if not inherited:
            for statement in node.body:
                if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
                    return statement
        for base in node.bases:
            occurrence = module.by_node.get(_root(base))
            reference = self.bindings.of(module, occurrence) if occurrence else None
            if reference and isinstance(reference.meaning, Variable):
                definition = self.bindings.definition(reference.meaning)
                if isinstance(definition, ast.ClassDef) and definition is not node:
                    found = self.initializer(self.program.modules[reference.meaning.module], definition)
                    if found:
                        return found
        return None


def _root(node: ast.AST) -> ast.AST:
    """The innermost value of an attribute chain."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def _assignments(node: ast.AST) -> list[ast.Assign | ast.AnnAssign]:
    found: list[ast.Assign | ast.AnnAssign] = []
    for child in ast.walk(node):
        if isinstance(child, ast.Assign) and len(child.targets) == 1 and isinstance(child.targets[0], ast.Name):
            found.append(child)
        elif isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name):
            found.append(child)
    return found


def _local_definition(occurrence: Occurrence) -> ast.AST | None:
    home = occurrence.home()
    bound = home.bound.get(occurrence.name, [])
    if (
        home.kind == "function"
        and len(bound) == 1
        and isinstance(bound[0].node, FunctionNode)
        and not occurrence.attributes
    ):
        return bound[0].node
    return None


def _is_static(method: FunctionNode) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in method.decorator_list)


class _Folder(values.Evaluator):
    """Evaluates expressions over knobs; `decided` says whether a knob had a part in the value."""

    def __init__(self, freezer: _Freezer) -> None:
        super().__init__()
        self.freezer = freezer
        self.decided = False

    def name(self, node: ast.Name) -> Any:
        """Local variables that hold a known value."""
        occurrence = self.freezer.module.by_node.get(node)
        key = (occurrence.home(), occurrence.name) if occurrence else None
        if key in self.freezer.known:
            self.decided = True
            return self.freezer.known[key]
        return super().name(node)

    def attribute(self, node: ast.Attribute) -> Any:
        """Fields and properties of the config."""
        freezer = self.freezer
        if freezer.config and freezer.configs.is_config(freezer.module, node.value):
            try:
                value = freezer.config.read(node.attr)
            except KeyError as error:
                raise values.Unknown(node, f"the config has no `{node.attr}`") from error
            self.decided = True
            return value
        return super().attribute(node)

    def function(self, node: ast.expr) -> Callable[..., Any] | None:
        """Builtins that nothing in the recipe hides, and the exact functions of math."""
        occurrence = self.freezer.module.by_node.get(_root(node))
        if occurrence is None:
            return None
        bindings, module = self.freezer.bindings, self.freezer.module
        if isinstance(node, ast.Name) and bindings.is_builtin(module, occurrence):
            return super().function(node)
        reference = bindings.of(module, occurrence)
        if reference and getattr(reference.meaning, "path", None) == "math":
            return super().function(node)
        return None


class _Freezer:
    """Walks one module's parts and writes decisions into its Rewrite."""

    def __init__(
        self, module: Module, rewrite: Rewrite, bindings: Bindings, configs: _Configs, config: Config | None
    ) -> None:
        self.module = module
        self.source = module.source
        self.text = module.source.text
        self.rewrite = rewrite
        self.bindings = bindings
        self.configs = configs
        self.config = config
        self.known: dict[Key | None, Any] = {}
        self.inlined: dict[int, bool] = {}  # where a field of an f-string was, and whether a brace took its place
        self.index = 0

    def part(self, index: int) -> None:
        """Freeze one top-level statement."""
        self.index = index
        node = self.module.parts[index].node
        if self.is_config_assignment(node):
            self.rewrite.statements[node] = []
            self.rewrite.kill(self.module.parts[index].start, self.module.parts[index].end)
        else:
            self.statement(node, False)
            self.check_names()

    def problem(self, node: ast.AST | int, code: str, message: str, remedy: str) -> None:
        offset = node if isinstance(node, int) else self.source.start(node)  # type: ignore[arg-type]
        self.rewrite.problems.append((self.index, offset, self.module.problem(offset, code, message, remedy)))

    def edit(self, start: int, end: int, *pieces: Piece) -> None:
        self.rewrite.edits.append(Edit(start, end, pieces))

    # Evaluation

    def decide(self, node: ast.expr) -> tuple[bool, Any]:
        """Whether knobs alone decide an expression, and its value."""
        folder = _Folder(self)
        try:
            value = folder.evaluate(node)
        except values.Unknown:
            return False, None
        return folder.decided, value

    def is_config(self, node: ast.expr) -> bool:
        return self.configs.is_config(self.module, node)

    def is_config_assignment(self, node: ast.stmt) -> bool:
        """`config = load_config(...)` and the like: gone from the artifact."""
        match node:
            case (
                ast.Assign(targets=[ast.Name() as target])
                | ast.AnnAssign(target=ast.Name() as target, value=ast.expr())
            ):
                occurrence = self.module.by_node[target]
                return (occurrence.home(), occurrence.name) in self.configs.names
            case ast.Expr():
                return isinstance(node.value, ast.Call) and self.is_config(node.value)
        return False

    # Statements

    def block(self, body: list[ast.stmt], straight: bool) -> None:
        """Freeze a block. `straight`: every statement of it runs exactly once, in order, before the function ends."""
        gone: list[int] = []
        ended = False
        for i, node in enumerate(body):
            if ended:
                self.rewrite.statements[node] = []
                gone.append(i)
            elif self.is_config_assignment(node):
                self.rewrite.statements[node] = []
                gone.append(i)
            elif isinstance(node, ast.If):
                outcome = self.branch(node, straight)
                if outcome is not None and not outcome:
                    gone.append(i)
                ended = bool(outcome) and self.ends(outcome)
            elif self.never_runs(node) or self.is_internal_import(node):
                if not isinstance(node, ast.While):
                    self.rewrite.looked_through.add(node)
                self.rewrite.statements[node] = []
                gone.append(i)
            else:
                self.statement(node, straight)
        self.remove(body, gone)

    def never_runs(self, node: ast.stmt) -> bool:
        """A `while` loop whose test is false from the start."""
        if not isinstance(node, ast.While) or node.orelse:
            return False
        decided, value = self.decide(node.test)
        return decided and not value

    def is_internal_import(self, node: ast.stmt) -> bool:
        """An import inside a function, every name of which the artifact reaches directly."""
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            return False
        occurrences = [self.module.by_node.get(alias) for alias in node.names]
        return all(
            o is not None and o.home().kind == "function" and self.bindings.is_looked_through(self.module, o)
            for o in occurrences
        )

    def ends(self, body: list[ast.stmt] | None) -> bool:
        """Whether nothing after this block is reached, knobs considered."""
        while body:
            last = body[-1]
            replaced = self.rewrite.statements.get(last)
            if replaced is None:
                return isinstance(last, ENDS)
            body = replaced or body[:-1]
        return False

    def remove(self, body: list[ast.stmt], gone: list[int]) -> None:
        """Take statements out of a block's text, runs of neighbours together, with the comments right above them."""
        while gone:
            first = last = gone.pop(0)
            while gone and gone[0] == last + 1:
                last = gone.pop(0)
            self.remove_run(body, first, last)

    def remove_run(self, body: list[ast.stmt], first: int, last: int) -> None:
        source, text = self.source, self.text
        start, end = source.statement_start(body[first]), source.end(body[last])
        self.rewrite.kill(start, end)
        before = source.end(body[first - 1]) if first else 0
        behind = source.statement_start(body[last + 1]) if last + 1 < len(body) else len(text)
        alone = not text[source.line_start(start) : start].strip() and source.line_end(end) < behind
        if (not first and last + 1 == len(body)) or not alone:
            self.edit(start, end, "pass")
            return
        top = self.comments_above(start, before)
        if first:
            stop = source.line_end(end)
            self.edit(top - 1 - self.indent_of(top), max(stop, end))
        else:
            follow = self.comments_above(behind, end)
            self.edit(top, follow)

    def indent_of(self, offset: int) -> int:
        return offset - self.source.line_start(offset)

    def comments_above(self, start: int, low: int) -> int:
        """Where the comment lines that stand directly above a statement begin (or the statement, when there are none)."""
        source = self.source
        line = top = source.line(start)
        if self.text[source.line_start(start) : start].strip():
            return start
        while top > 1 and source.line_text(top - 1).lstrip().startswith("#") and source.offset(top - 1, 0) >= low:
            top -= 1
        above = source.line_text(top)
        return start if top == line else source.offset(top, 0) + len(above) - len(above.lstrip())

    def branch(self, node: ast.If, straight: bool) -> list[ast.stmt] | None:
        """Freeze an `if` with its `elif`s. None: it stays a branch; a list: it became these statements (perhaps none)."""
        current, chosen = self.choose(node)
        if chosen is None:
            assert current is not None
            if current is not node:  # its first tests are false: the `elif` becomes the `if`
                self.rewrite.statements[node] = [current]
                self.edit(self.source.start(node), self.source.start(current) + len("elif"), "if")
                self.rewrite.kill(self.source.start(node), self.source.start(current))
            self.open_branch(current)
            return None
        self.rewrite.statements[node] = chosen
        if chosen:
            self.splice(node, chosen)
            self.block(chosen, straight)
        return chosen

    def choose(self, node: ast.If) -> tuple[ast.If | None, list[ast.stmt] | None]:
        """Follow tests that knobs decide: (first undecided one, None), or (None, the statements that are chosen)."""
        while True:
            decided, value = self.decide(node.test)
            if not decided:
                return node, None
            chosen = node.body if value else node.orelse
            if value or not self.is_elif(chosen):
                return None, chosen
            node = chosen[0]  # type: ignore[assignment]

    def is_elif(self, body: list[ast.stmt]) -> bool:
        return (
            len(body) == 1 and isinstance(body[0], ast.If) and self.text.startswith("elif", self.source.start(body[0]))
        )

    def open_branch(self, node: ast.If) -> None:
        """An `if` or `elif` whose test stays."""
        source = self.source
        self.test(node.test)
        self.block(node.body, False)
        if not self.is_elif(node.orelse):
            if node.orelse:
                self.block(node.orelse, False)
            return
        follower = node.orelse[0]
        assert isinstance(follower, ast.If)
        start, end = source.start(follower), source.end(follower)
        current, chosen = self.choose(follower)
        if current is follower:
            self.open_branch(follower)
        elif current is not None:
            self.rewrite.statements[follower] = [current]
            self.edit(start, source.start(current))
            self.rewrite.kill(start, source.start(current))
            self.open_branch(current)
        else:
            assert chosen is not None
            self.rewrite.statements[follower] = chosen
            if chosen:
                begin, stop = self.extent(follower, chosen)
                line_begin = source.line_start(begin)
                own_line = not self.text[line_begin:begin].strip()
                self.edit(start, line_begin if own_line else begin, "else:\n" if own_line else "else: ")
                self.edit(stop, self.line_or_end(end, stop))
                self.rewrite.kill(start, begin)
                self.rewrite.kill(stop, end)
                self.block(chosen, False)
            else:
                above = source.end(node.body[-1])
                self.edit(max(above, source.line_end(above)), source.line_end(end))
                self.rewrite.kill(start, end)

    def line_or_end(self, end: int, low: int) -> int:
        """Behind the comment that follows on the line of `end`."""
        line_end = self.source.line_end(end)
        return line_end if self.text[end:line_end].lstrip().startswith("#") else max(end, low)

    def extent(self, node: ast.If, chosen: list[ast.stmt]) -> tuple[int, int]:
        """The text of a block: the comments above its first statement (below the header) to the comment behind its last."""
        source = self.source
        start, end = source.statement_start(chosen[0]), source.end(chosen[-1])
        header = source.end(node.test) if chosen is node.body else self.before(start)
        return self.comments_above(start, header), self.line_or_end(end, end)

    def before(self, start: int) -> int:
        """The start of the line that carries the header above a block (comments between belong to the block)."""
        source = self.source
        line = source.line(start) - 1
        while line > 1 and source.line_text(line).lstrip().startswith("#"):
            line -= 1
        return source.offset(max(line, 1), 0)

    def splice(self, node: ast.If, chosen: list[ast.stmt]) -> None:
        """Replace an `if` statement by one of its blocks, moved out to its indentation."""
        source = self.source
        start, end = source.start(node), source.end(node)
        begin, stop = self.extent(node, chosen)
        line_begin = source.line_start(begin)
        own_line = not self.text[line_begin:begin].strip()
        was = self.text[line_begin:begin] if own_line else ""
        becomes = self.text[source.line_start(start) : start] if own_line else ""
        self.edit(start, self.line_or_end(end, stop), Span(begin, stop, was, becomes))
        self.rewrite.kill(start, begin)
        self.rewrite.kill(stop, end)

    def statement(self, node: ast.stmt, straight: bool) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.function(node)
            case ast.ClassDef():
                self.expressions([*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)])
                self.block(node.body, False)
            case ast.If():
                if self.branch(node, straight) == []:
                    self.rewrite.kill(self.source.start(node), self.source.end(node))
            case ast.For() | ast.AsyncFor():
                self.expressions([node.target, node.iter])
                self.block(node.body, False)
                self.block(node.orelse, False)
            case ast.While():
                self.test(node.test)
                self.block(node.body, False)
                self.block(node.orelse, False)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    self.expressions([item.context_expr, item.optional_vars])
                self.block(node.body, straight)
            case ast.Try() | ast.TryStar():
                self.block(node.body, False)
                for handler in node.handlers:
                    self.expressions([handler.type])
                    self.block(handler.body, False)
                self.block(node.orelse, False)
                self.block(node.finalbody, False)
            case ast.Match():
                self.expression(node.subject)
                for case in node.cases:
                    self.expressions([case.guard])
                    self.children(case.pattern)
                    self.block(case.body, False)
            case ast.Assign(targets=[ast.Name() as target]) if straight:
                self.remember(target, node.value)
                self.children(node)
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr()) if straight:
                self.remember(target, node.value)
                self.children(node)
            case _:
                self.children(node)

    def remember(self, target: ast.Name, value: ast.expr) -> None:
        """Note the value of a local variable that is bound once, here, before everything that can read it."""
        occurrence = self.module.by_node[target]
        home = occurrence.home()
        if home.kind == "function" and len(home.bound[occurrence.name]) == 1:
            decided, known = self.decide(value)
            if decided and isinstance(known, (*values.PLAIN, tuple)):
                self.known[(home, occurrence.name)] = known

    def function(self, node: FunctionNode) -> None:
        arguments = node.args
        self.expressions([*node.decorator_list, *arguments.defaults, *arguments.kw_defaults])
        taken = self.configs.takers.get(node, set())
        if taken:
            self.parameters(node, taken)
        self.block(node.body, True)

    def parameters(self, node: FunctionNode, taken: set[str]) -> None:
        """Take the config parameters out of a signature."""
        source, arguments = self.source, node.args
        items: list[tuple[ast.arg | str, int, int, ast.expr | None]] = []
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
        for i, (argument, default) in enumerate(zip(positional, defaults, strict=True)):
            items.append((argument, source.start(argument), source.end(default or argument), default))
            if i + 1 == len(arguments.posonlyargs):
                at = self.text.index("/", items[-1][2])
                items.append(("/", at, at + 1, None))
        if arguments.vararg:
            at = self.text.rindex("*", 0, source.start(arguments.vararg))
            items.append((arguments.vararg, at, source.end(arguments.vararg), None))
        elif arguments.kwonlyargs:
            at = self.text.rindex("*", 0, source.start(arguments.kwonlyargs[0]))
            items.append(("*", at, at + 1, None))
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            items.append((argument, source.start(argument), source.end(default or argument), default))
        if arguments.kwarg:
            items.append(
                (
                    arguments.kwarg,
                    self.text.rindex("**", 0, source.start(arguments.kwarg)),
                    source.end(arguments.kwarg),
                    None,
                )
            )
        gone = [isinstance(item, ast.arg) and item.arg in taken for item, *_ in items]
        for item, start, _, default in items:
            if isinstance(item, ast.arg) and item.arg in taken:
                self.rewrite.removed.add(item)
                if default is not None:
                    self.problem(
                        start,
                        "BLD030",
                        f"the config parameter `{item.arg}` has a default",
                        "take the default away, and pass the config at every call",
                    )
        names = [item for item, *_ in items]
        if "/" in names and all(gone[: names.index("/")]):
            gone[names.index("/")] = True
        if "*" in names and all(
            isinstance(n, ast.arg) and (gone[i] or n is arguments.kwarg)
            for i, n in enumerate(names)
            if i > names.index("*")
        ):
            gone[names.index("*")] = True
        opening = self.source.skip_back(items[0][1], 0)
        closing = self.source.skip_on(items[-1][2], len(self.text))
        if self.text[closing] == ",":
            closing = self.source.skip_on(closing + 1, len(self.text))
        self.remove_items([(start, end) for _, start, end, _ in items], gone, opening, closing)

    def remove_items(self, items: list[tuple[int, int]], gone: list[bool], opening: int, closing: int) -> None:
        """Take items out of a comma-separated list between `opening` and `closing` (the offsets inside of its parentheses)."""
        if all(gone):
            self.edit(opening, closing)
            self.rewrite.kill(opening, closing)
            return
        for i, is_gone in enumerate(gone):
            if is_gone:
                start, end = self.item_extent(items, gone, i)
                self.edit(start, end)
                self.rewrite.kill(start, end)

    def item_extent(self, items: list[tuple[int, int]], gone: list[bool], i: int) -> tuple[int, int]:
        """What goes with an item: its lines when it has them for itself, else up to the next item or from the one before."""
        source, (start, end) = self.source, items[i]
        line_end = source.line_end(end)
        before, behind = (
            self.text[source.line_start(start) : start],
            self.text[end:line_end].lstrip().removeprefix(",").lstrip(),
        )
        if not before.strip() and (not behind or behind.startswith("#")) and line_end < len(self.text):
            return source.line_start(start), line_end + 1
        if any(not is_gone for is_gone in gone[i:]):
            return start, items[i + 1][0]
        return items[i - 1][1], end

    def check_names(self) -> None:
        """Folding must not turn a local name into a global one, nor a generator into a function."""
        dead = self.rewrite.is_dead
        occurrences = self.module.by_part.get(self.index, [])
        bound: dict[Key, list[bool]] = {}
        for occurrence in occurrences:
            if (
                occurrence.kind in ("store", "definition", "import", "delete")
                and occurrence.home() is not self.module.scope
            ):
                bound.setdefault((occurrence.home(), occurrence.name), []).append(dead(occurrence.start))
        lost = {
            key
            for key, all_dead in bound.items()
            if all(all_dead) and not any(o.kind == "parameter" for o in key[0].bound[key[1]])
        }
        for occurrence in occurrences if lost else []:
            if occurrence.kind == "load" and not dead(occurrence.start):
                key = (occurrence.home(), occurrence.name)
                if key in lost and key not in self.configs.names and self.bindings.of(self.module, occurrence) is None:
                    self.problem(
                        occurrence.start,
                        "BLD031",
                        f"`{occurrence.name}` is bound only in a branch that these knobs never take, and read here",
                        "bind it before the branch, or read it only inside of it",
                    )
        self.check_generators()

    def check_generators(self) -> None:
        for scope in {occurrence.scope for occurrence in self.module.by_part.get(self.index, [])}:
            if scope.kind == "function":
                yields = [self.source.start(node) for node in _yields(scope.node)]
                if (
                    yields
                    and all(map(self.rewrite.is_dead, yields))
                    and not self.rewrite.is_dead(self.source.start(scope.node))
                ):  # type: ignore[arg-type]
                    self.problem(
                        scope.node,
                        "BLD031",
                        "a generator whose every `yield` is folded away",
                        "write two functions and choose one",
                    )

    # Expressions

    def expressions(self, nodes: list[Any]) -> None:
        for node in nodes:
            if node is not None:
                self.expression(node)

    def children(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.expression(child)
            elif isinstance(child, (ast.keyword, ast.comprehension, ast.pattern, ast.arguments)):
                self.children(child)

    def expression(self, node: ast.expr, parent: ast.AST | None = None) -> None:
        match node:
            case ast.Attribute() if self.is_config(node.value):
                self.field(node, parent)
            case ast.Call() if self.is_asdict(node):
                assert self.config
                self.literal(node, {name: knob.value for name, knob in self.config.knobs.items()}, parent)
            case ast.Name() | ast.Call() if self.is_config(node):
                self.problem(
                    node,
                    "BLD030",
                    f"the config is used as a value: `{self.text[self.source.start(node) : self.source.end(node)]}`",
                    HOW,
                )
            case ast.Call():
                self.call(node)
            case ast.Compare():
                self.foldable(node, parent)
            case ast.BoolOp():
                self.boolean(node, parent)
            case ast.IfExp():
                self.conditional(node)
            case ast.NamedExpr():
                self.expression(node.value, node)
            case ast.JoinedStr():
                for value in node.values:
                    self.expression(value, node)
                self.plain_tokens(node)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.expression(child, node)
                    elif isinstance(child, (ast.keyword, ast.comprehension, ast.arguments)):
                        self.children(child)

    def is_asdict(self, node: ast.Call) -> bool:
        occurrence = self.module.by_node.get(_root(node.func))
        if occurrence is None or len(node.args) != 1 or node.keywords or not self.is_config(node.args[0]):
            return False
        reference = self.bindings.of(self.module, occurrence)
        path = getattr(reference.meaning, "path", "") if reference else ""
        return ".".join([path, *(a.attr for a in occurrence.attributes)]) == "dataclasses.asdict"

    def field(self, node: ast.Attribute, parent: ast.AST | None) -> None:
        """`config.width` becomes its value."""
        assert self.config
        try:
            value = self.config.read(node.attr)
        except KeyError:
            known = ", ".join(self.config.value_names())
            self.problem(node, "BLD030", f"the config has no field `{node.attr}`", f"it has: {known}")
            return
        except values.Unknown as error:
            message = f"the value of `{node.attr}` cannot be told exactly: {error.why}"
            self.problem(node, "BLD030", message, "compute it where it is used, from the fields")
            return
        if not isinstance(node.ctx, ast.Load):
            self.problem(
                node, "BLD030", f"the config's `{node.attr}` is assigned", "a config is frozen; use a local variable"
            )
            return
        self.literal(node, value, parent)

    def literal(self, node: ast.expr, value: Any, parent: ast.AST | None) -> None:
        """Write a value in place of an expression."""
        occurrence = self.module.by_node.get(_root(node if not isinstance(node, ast.Call) else node.func))
        quote = self.quote_around(node)
        if isinstance(parent, ast.FormattedValue) and self.inline(node, value, parent, quote):
            return
        text = strings.literal(value, quote)
        if text is None and isinstance(value, float) and not quote:
            text = f'float("{value}")' if not math.isnan(value) else 'float("nan")'
        if text is None or (occurrence is not None and occurrence.debug):
            self.problem(
                node,
                "BLD032",
                f"the value {value!r} cannot be written inside this f-string",
                "assign it to a local variable first",
            )
            return
        start, end = self.source.start(node), self.source.end(node)
        tree = ast.parse(text, mode="eval").body
        negative = text.startswith("-")
        enclosed = self.text[start - 1 : start] == "(" and self.text[end : end + 1] == ")"
        tight = (
            isinstance(parent, TIGHT)
            and negative
            or isinstance(parent, (ast.Attribute, ast.Subscript))
            and (negative or text.isdigit())
        )
        if tight and not enclosed:
            text = f"({text})"
        if text.startswith("{") and self.text[start - 1 : start] == "{":
            text = f" {text}"  # `{{` is a brace in an f-string
        self.edit(start, end, text)
        self.rewrite.kill(start, end)
        self.rewrite.expressions[node] = tree

    def inline(self, node: ast.expr, value: Any, field: ast.FormattedValue, quote: str) -> bool:
        """Write a value into the text of an f-string, in place of `{...}`. False where that is not possible."""
        if (
            field.conversion != -1
            or field.format_spec
            or not isinstance(value, (str, int, float))
            or not str(value).isprintable()
        ):
            return False
        text = str(value)
        if "\\" in text or quote[0] in text:
            return False
        start, end = self.source.start(node), self.source.end(node)
        while self.text[start] != "{":
            start -= 1
        while self.text[end - 1] != "}":
            end += 1
        if self.text[start + 1 : self.source.start(node)].strip() or self.text[self.source.end(node) : end - 1].strip():
            return False  # parentheses, or a label
        self.edit(start, end, text.replace("{", "{{").replace("}", "}}"))
        self.rewrite.kill(start, end)
        self.rewrite.expressions[field] = ast.Constant(text)
        self.inlined[start] = "{" in text or "}" in text
        return True

    def plain_tokens(self, node: ast.JoinedStr) -> None:
        """Take the `f` from strings of which no field is left."""
        start, end = self.source.start(node), self.source.end(node)
        fields = strings.fields(self.text, start, end)
        for begin, stop in strings.tokens(self.text, start, end):
            inside = [self.text.rindex("{", 0, field.start + 1) for field in fields if begin <= field.start < stop]
            text = self.text[begin:stop]
            if inside and all(self.inlined.get(at) is False for at in inside) and "{{" not in text and "}}" not in text:
                at = begin + text.lower().index("f")
                self.edit(at, at + 1)

    def quote_around(self, node: ast.expr) -> str:
        """The quote of the f-string around an expression, or ""."""
        for child in ast.walk(node):
            occurrence = self.module.by_node.get(child)
            if occurrence is not None:
                return occurrence.quote
        return ""

    def foldable(self, node: ast.expr, parent: ast.AST | None) -> bool:
        """Replace a comparison or boolean operation that knobs decide by its value, else freeze what is inside."""
        decided, value = self.decide(node)
        if decided and isinstance(value, values.PLAIN):
            self.literal(node, value, parent)
            return True
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.expression(child, node)
        return False

    def test(self, node: ast.expr) -> None:
        """An expression of which only the truth counts."""
        if isinstance(node, ast.BoolOp):
            self.boolean(node, None, only_truth=True)
        else:
            self.expression(node)

    def boolean(self, node: ast.BoolOp, parent: ast.AST | None, only_truth: bool = False) -> None:
        """`config.a and b`: operands that knobs decide go, as far as neither value nor evaluation order changes."""
        decided, value = self.decide(node)
        if decided and isinstance(value, values.PLAIN):
            self.literal(node, value, parent)
            return
        stops_at = isinstance(node.op, ast.Or)
        kept: list[int] = []
        stopped = False
        for i, operand in enumerate(node.values):
            operand_decided, operand_value = self.decide(operand)
            if operand_decided and bool(operand_value) is stops_at:
                kept.append(i)
                stopped = i + 1 < len(node.values)
                break
            if not operand_decided or (i + 1 == len(node.values) and not only_truth):
                kept.append(i)
        if len(kept) < len(node.values):
            self.drop_operands(node, kept, stopped)
        for i in kept:
            self.expression(node.values[i], node)

    def drop_operands(self, node: ast.BoolOp, kept: list[int], stopped: bool) -> None:
        source = self.source
        low, high = source.start(node), source.end(node)
        spans = [source.grow(source.start(v), source.end(v), low, high) for v in node.values]
        if 0 not in kept:
            spans = [(low, spans[0][1]), *spans[1:]]
        self.rewrite.operands[node] = [node.values[i] for i in kept]
        for i in range(kept[-1]):
            if i not in kept:
                self.edit(spans[i][0], spans[i + 1][0])
                self.rewrite.kill(spans[i][0], spans[i + 1][0])
        if stopped or kept[-1] + 1 < len(spans):
            self.edit(spans[kept[-1]][1], high)
            self.rewrite.kill(spans[kept[-1]][1], high)

    def conditional(self, node: ast.IfExp) -> None:
        """`a if config.flag else b` becomes one of the two."""
        decided, value = self.decide(node.test)
        if not decided:
            self.expression(node.body, node)
            self.test(node.test)
            self.expression(node.orelse, node)
            return
        source = self.source
        chosen = node.body if value else node.orelse
        start, end = source.start(node), source.end(node)
        low, high = source.grow(source.start(chosen), source.end(chosen), start, end)
        self.edit(start, end, Span(low, high))
        self.rewrite.kill(start, low)
        self.rewrite.kill(high, end)
        self.rewrite.expressions[node] = chosen
        self.expression(chosen, node)

    # Calls

    def call(self, node: ast.Call) -> None:
        self.expression(node.func, node)
        passed: list[ast.expr | ast.keyword] = [a for a in node.args if self.is_config(a)]
        passed += [k for k in node.keywords if self.is_config(k.value)]
        if passed:
            self.pass_config(node, passed)
        for argument in node.args:
            if argument not in passed:
                self.expression(argument, node)
        for keyword in node.keywords:
            if keyword not in passed:
                self.expression(keyword.value, keyword)

    def pass_config(self, node: ast.Call, passed: list[ast.expr | ast.keyword]) -> None:
        """Take config arguments out of a call, when every function it may run has a config parameter there."""
        callees = self.configs.callees(self.module, node)
        fits = (
            bool(callees)
            and not any(isinstance(a, ast.Starred) for a in node.args)
            and not any(k.arg is None for k in node.keywords)
        )
        for callee, bound in callees:
            wanted = self.configs.takers.get(callee, set())
            assert isinstance(callee, FunctionNode)
            names = [a.arg for a in (*callee.args.posonlyargs, *callee.args.args)][bound:]
            given = set()
            for argument in passed:
                if isinstance(argument, ast.keyword):
                    given.add(argument.arg)
                else:
                    at = node.args.index(argument)
                    given.add(names[at] if at < len(names) else None)
            fits = fits and given == wanted
        if not fits:
            called = self.text[self.source.start(node.func) : self.source.end(node.func)]
            message = (
                f"the config is passed to `{called}`, which has no parameter annotated with the config class there"
            )
            self.problem(passed[0], "BLD030", message, HOW)
            return
        arguments = sorted([*node.args, *node.keywords], key=self.source.start)
        self.rewrite.removed.update(passed)
        low, high = self.source.end(node.func), self.source.end(node)
        spans = []
        for argument in arguments:
            start, end = self.source.start(argument), self.source.end(argument)
            opening = self.text.index("(", low) + 1
            spans.append(self.source.grow(start, end, opening, high - 1))
        self.remove_items(spans, [a in passed for a in arguments], self.text.index("(", low) + 1, high - 1)


def _yields(function: ast.AST) -> list[Any]:
    found: list[Any] = []
    waiting: list[ast.AST] = list(getattr(function, "body", []))
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            found.append(node)
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(node))
    return found

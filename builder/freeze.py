"""Phase 2, freeze: replace every read of a knob by its value, take the config object out of all signatures, fold what
that decides.

    def make_norm(config: Config) -> nn.Module:         def make_norm() -> nn.Module:
        if config.norm == "nki":                            return NkiNorm(128, 1e-06)
            return NkiNorm(config.width, config.eps)
        return TorchNorm(config.width, config.eps)

A config may be a parameter annotated with the config class, or a local variable made from one or from the loader. Its
fields can be read, and it can be passed on to such a parameter; anything else is refused where the code is kept.
Arithmetic stays as it is written; folded are branches, `match`, conditional expressions, boolean operators,
comparisons, look-ups in a table written in place, and the fields of f-strings.
"""

from __future__ import annotations

import ast
from typing import Any

from builder import trees
from builder.bindings import Variable
from builder.configs import FunctionNode, Key
from builder.edits import Span
from builder.expressions import Expressions, is_quiet
from builder.facts import Facts
from builder.late import Late
from builder.options import Options
from builder.rewrite import Rewrite
from builder.scan import Program, is_typing_block
from builder.taint import concerned
from builder.unused import unused
from builder.values import UNKNOWN, RaisedError, Run, UnknownValueError

ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def freeze(program: Program, facts: Facts, options: list[Options], late: Late) -> dict[str, Rewrite]:
    """Decide what each module's code becomes under the frozen knobs.

    It is done again as long as that leaves local variables that nothing reads: their assignments go as well.
    """
    facts.configs.find_imports()
    wanted = concerned(facts)
    gone = {store for one in options if one.vanishes for store in one.stores}
    origins: dict[ast.expr, Options] = {one.parsed.call: one for one in options if not one.vanishes}
    while True:
        rewrites: dict[str, Rewrite] = {}
        left: set[ast.stmt] = set()
        for module in program.modules.values():
            rewrite = rewrites[module.name] = Rewrite()
            for part in module.parts:
                if facts.configs.concerns(module, part.index) or part in wanted:
                    freezer = _Freezer(module, rewrite, facts, origins, gone)
                    freezer.late = late
                    freezer.part(part.index)
                    left |= unused(module, part, rewrite)
        if left <= gone:
            return rewrites
        gone |= left


class _Freezer(Expressions):
    """Walks one module's parts, statement by statement."""

    late: Late

    def part(self, index: int) -> None:
        """Freeze one top-level statement."""
        self.index = index
        node = self.module.parts[index].node
        self.facts.module_flow(self.module)
        for occurrence in self.configs.rebound.get((self.module.name, index), []):
            message = f"`{occurrence.name}` is a config and gets another value here; the artifact has the frozen one"
            self.problem(occurrence.start, "BLD030", message, "set the knobs in the configuration, not in the program")
        if self.goes(node):
            self.rewrite.statements[node] = []
            self.rewrite.kill(self.module.parts[index].start, self.module.parts[index].end)
        elif not self.is_constant(node):
            self.statement(node)
            self.check_names()

    def is_constant(self, node: ast.stmt) -> bool:
        """Whether a statement makes a module constant that is a knob; its value is then the knob's."""
        match node:
            case (
                ast.Assign(targets=[ast.Name() as target], value=value)
                | ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value)
            ):
                known = self.facts.constants.get(Variable(self.module.name, target.id))
                if known is not None:
                    self.literal(value, known[0], node)
                return known is not None
        return False

    def goes(self, node: ast.stmt) -> bool:
        """Whether a statement does nothing but what is frozen: makes a config or a parser, sets an option, or asserts
        what holds.
        """
        frozen = self.is_config_assignment(node) or node in self.stores or self.is_parser_statement(node)
        return frozen or self.holds_always(node)

    def is_parser_statement(self, node: ast.stmt) -> bool:
        """Whether a statement was evaluated whole and only makes or fills a parser of the command line."""
        if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.Expr, ast.For)):
            return False
        names = [child for child in trees.nodes(node) if isinstance(child, ast.Name)]
        occurrences = [o for o in (self.module.by_node.get(name) for name in names) if o is not None]
        parsers = [o for o in occurrences if self.facts.is_parser(self.module, o)]
        if not parsers:
            return False
        scope = parsers[0].scope
        if not self.facts.is_followed(self.module, scope, node):
            return False
        stored = [o for o in occurrences if o.kind == "store" and o.scope is scope and not isinstance(node, ast.For)]
        return all(self.facts.is_parser(self.module, occurrence) for occurrence in stored)

    def is_config_assignment(self, node: ast.stmt) -> bool:
        """`config = load_config(...)` and the like: gone from the artifact."""
        match node:
            case (
                ast.Assign(targets=[ast.Name() as target])
                | ast.AnnAssign(target=ast.Name() as target, value=ast.expr())
            ):
                occurrence = self.module.by_node[target]
                return self.configs.holds((occurrence.home(), occurrence.name))
            case ast.Expr():
                return isinstance(node.value, ast.Call) and self.is_config(node.value)
        return False

    def block(self, body: list[ast.stmt]) -> None:
        """Freeze a block."""
        gone: list[int] = []
        ended = False
        for i, node in enumerate(body):
            if node in self.rewrite.statements:
                continue  # the condition of a loop over a table
            if ended or self.goes(node):
                self.rewrite.statements[node] = []
                gone.append(i)
            elif isinstance(node, (ast.If, ast.Match)) or self.is_decided(node):
                outcome = self.choice(node)
                if outcome is not None and not outcome:
                    gone.append(i)
                ended = bool(outcome) and self.ends(outcome)
            elif isinstance(node, ast.For) and self.shorten(node) is False:
                self.rewrite.statements[node] = []
                gone.append(i)
            elif self.never_runs(node) or self.is_internal_import(node):
                if not isinstance(node, ast.While):
                    self.rewrite.looked_through.add(node)
                self.rewrite.statements[node] = []
                gone.append(i)
            else:
                self.statement(node)
        self.remove(body, gone)

    def holds_always(self, node: ast.stmt) -> bool:
        """An `assert` that knobs decide, and that does not fail."""
        if not isinstance(node, ast.Assert):
            return False
        decided, value = self.decide(node.test)
        return decided and bool(value)

    def shorten(self, node: ast.For) -> bool | None:
        """A loop over a table written in place, of which a condition picks lines: the others go, and the condition.

            for name, wanted in (("ema", False), ("swa", True)):        for name, wanted in (("swa", True),):
                if wanted:                                                  start(name)
                    start(name)

        False: no line is left; None: nothing was done.
        """
        match node:
            case ast.For(iter=ast.Tuple() | ast.List() as table, body=[ast.If(orelse=[]) as only], orelse=[]):
                pass
            case _:
                return None
        outcomes = [self.outcome_for(node.target, line, only.test) for line in table.elts]
        if not outcomes or None in outcomes or not self.is_only_used_inside(node):
            return None
        if not any(outcomes):
            return False
        gone = [not outcome for outcome in outcomes]
        spans = [(self.source.start(line), self.source.end(line)) for line in table.elts]
        opening, closing = self.source.start(table), self.source.end(table)
        if self.text[opening] in "([" and spans[0][0] > opening:
            opening, closing = opening + 1, closing - 1
        if any(gone):
            self.remove_items(spans, gone, opening, closing)
            left = [line for line, is_gone in zip(table.elts, gone, strict=True) if not is_gone]
            behind = self.text[spans[-1][1] : closing].strip()
            if isinstance(table, ast.Tuple) and len(left) == 1 and not behind.startswith(","):
                start, end = self.source.start(left[0]), self.source.end(left[0])
                self.edit(start, end, Span(start, end), ",")
            self.rewrite.expressions[table] = ast.copy_location(type(table)(left, ast.Load()), table)
        self.become(only, only.body)
        return True

    def outcome_for(self, target: ast.expr, line: ast.expr, test: ast.expr) -> bool | None:
        """What knobs make of a test for one line of a table; None where they do not decide it."""
        run = Run()
        code = self.facts.evaluator(self.module, run)
        names, parts = [target], [line]
        if isinstance(target, ast.Tuple) and isinstance(line, ast.Tuple) and len(target.elts) == len(line.elts):
            names, parts = target.elts, line.elts
        for name, part in zip(names, parts, strict=True):
            if not isinstance(name, ast.Name) or not is_quiet(part):
                return None
            try:
                code.variables[name.id] = code.evaluate(part)
            except (UnknownValueError, RaisedError):
                code.variables[name.id] = UNKNOWN
        run.used.clear()
        try:
            value = code.truth(test, code.evaluate(test))
        except (UnknownValueError, RaisedError):
            return None
        knobs = run.used or self.uses_knobs(parts)
        return value if knobs else None

    def uses_knobs(self, nodes: list[ast.expr]) -> bool:
        """Whether knobs have a part in some of these values."""
        run = Run()
        for node in nodes:
            try:
                self.facts.evaluator(self.module, run).evaluate(node)
            except (UnknownValueError, RaisedError):
                continue
        return bool(run.used)

    def is_only_used_inside(self, node: ast.For) -> bool:
        """Whether nothing reads a loop's variables but the loop, and other loops that bind them anew."""
        targets = [child for child in trees.nodes(node.target) if isinstance(child, ast.Name)]
        names = {target.id for target in targets}
        home = self.module.by_node[targets[0]].home()
        loops = [child for child in trees.nodes(self.module.parts[self.index].node) if isinstance(child, ast.For)]
        spans: dict[str, list[tuple[int, int]]] = {}
        for loop in loops:
            for child in trees.nodes(loop.target):
                if isinstance(child, ast.Name):
                    spans.setdefault(child.id, []).append((self.source.start(loop), self.source.end(loop)))
        return all(
            any(start <= occurrence.start < end for start, end in spans[occurrence.name])
            for occurrence in self.module.scope.occurrences
            if occurrence.name in names and occurrence.kind != "store" and occurrence.home() is home
        )

    def never_runs(self, node: ast.stmt) -> bool:
        """A `while` loop whose test is false from the start."""
        if not isinstance(node, ast.While) or node.orelse:
            return False
        decided, value = self.decide(node.test)
        return decided and not value

    def is_internal_import(self, node: ast.stmt) -> bool:
        """An import inside a function, every name of which the artifact reaches directly."""
        if not isinstance(node, (ast.Import, ast.ImportFrom)) or self.late.is_site(self.module, node):
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

    def branch(self, node: ast.If) -> list[ast.stmt] | None:
        """Freeze an `if` with its `elif`s. None: it stays a branch; a list: it became these statements."""
        current, chosen = (node, None) if is_typing_block(node) else self.choose(node)
        if chosen is None:
            assert current is not None
            if current is not node:  # its first tests are false: the `elif` becomes the `if`
                self.rewrite.statements[node] = [current]
                at = self.source.start(current)
                comments = Span(self.comments_above(at, self.source.end(node.test)), at)
                self.edit(self.source.start(node), at + len("elif"), comments, "if")
                self.rewrite.kill(self.source.start(node), self.source.start(current))
            self.open_branch(current)
            return None
        return self.become(node, chosen)

    def choice(self, node: ast.stmt) -> list[ast.stmt] | None:
        """Freeze a statement of several blocks. None: it stays; a list: it became these statements."""
        match node:
            case ast.If():
                return self.branch(node)
            case ast.Match():
                return self.cases(node)
        assert isinstance(node, ast.Try)
        return self.become(node, self.facts.attempts[node])

    def is_decided(self, node: ast.stmt) -> bool:
        """Whether a statement is a `try` of which knobs decide what runs."""
        return isinstance(node, ast.Try) and self.facts.attempted(self.module, node) is not None

    def become(self, node: ast.If | ast.Match | ast.Try, chosen: list[ast.stmt]) -> list[ast.stmt]:
        """Put the block that knobs chose in the place of a branching statement."""
        self.block(chosen)
        if self.vanishes(chosen):
            chosen = []
        else:
            self.splice(node, chosen)
        self.rewrite.statements[node] = chosen
        return chosen

    def cases(self, node: ast.Match) -> list[ast.stmt] | None:
        """Freeze a `match`; when knobs decide its subject and its patterns are plain values, only one case is left."""
        decided, value = self.decide(node.subject)
        chosen: list[ast.stmt] = []
        for case in node.cases if decided else []:
            fits = None if case.guard else _matches(case.pattern, value)
            if fits is None:
                decided = False
            if fits is not False:
                chosen = case.body
                break
        if decided:
            return self.become(node, chosen)
        self.expression(node.subject)
        for case in node.cases:
            self.expressions([case.guard])
            self.children(case.pattern)
            self.block(case.body)
        return None

    def vanishes(self, body: list[ast.stmt]) -> bool:
        """Whether nothing of a block is left."""
        replaced = [self.rewrite.statements.get(node, [node]) for node in body]
        return not any(replaced)

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
        """Whether an `else` block is written as `elif`."""
        return (
            len(body) == 1 and isinstance(body[0], ast.If) and self.text.startswith("elif", self.source.start(body[0]))
        )

    def open_branch(self, node: ast.If) -> None:
        """An `if` or `elif` whose test stays."""
        source = self.source
        self.check_trouble(node)
        self.test(node.test)
        self.block(node.body)
        if not self.is_elif(node.orelse):
            if node.orelse:
                self.block(node.orelse)
            return
        follower = node.orelse[0]
        assert isinstance(follower, ast.If)
        start = source.start(follower)
        current, chosen = self.choose(follower)
        if current is follower:
            self.open_branch(follower)
        elif current is not None:
            self.rewrite.statements[follower] = [current]
            low = source.end(node.body[-1])
            self.cut(self.comments_above(start, low), self.comments_above(source.start(current), low))
            self.open_branch(current)
        else:
            assert chosen is not None
            self.block(chosen)
            if self.vanishes(chosen):
                self.cut_elif(node, follower)
                chosen = []
            else:
                self.splice_else(follower, chosen)
            self.rewrite.statements[follower] = chosen

    def check_trouble(self, node: ast.stmt) -> None:
        """A statement that does something to the parser of the command line which nobody can follow."""
        trouble = self.facts.troubles.get(node)
        if trouble is not None:
            message = f"what this does with the parser of the command line cannot be evaluated: {trouble.why}"
            self.problem(node, "BLD022", message, "add options by their names, with plain types and defaults")

    def check_rejected(self, node: ast.stmt) -> None:
        """A statement in straight code that these knobs make raise: the program's own check of them, mostly."""
        if not isinstance(node, ast.If):
            self.check_trouble(node)
        rejected = self.facts.rejected.get(node)
        if rejected is None or rejected[1].kind is KeyError:  # a variable that is not set is told where it is read
            return
        message, remedy = f"these knobs are refused: {rejected[1]}", "choose knobs that the program accepts"
        self.problem(node, "BLD009", message, remedy)

    def statement(self, node: ast.stmt) -> None:
        """Freeze one statement that stays."""
        self.check_rejected(node)
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.function(node)
            case ast.ClassDef():
                self.expressions([*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)])
                self.block(node.body)
            case ast.If():
                if self.branch(node) == []:
                    self.rewrite.kill(self.source.start(node), self.source.end(node))
            case ast.For() | ast.AsyncFor():
                self.expressions([node.target, node.iter])
                self.block(node.body)
                self.block(node.orelse)
            case ast.While():
                self.test(node.test)
                self.block(node.body)
                self.block(node.orelse)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    self.expressions([item.context_expr, item.optional_vars])
                self.block(node.body)
            case ast.Try() if self.is_decided(node):
                if self.choice(node) == []:
                    self.rewrite.kill(self.source.start(node), self.source.end(node))
            case ast.Try() | ast.TryStar():
                self.block(node.body)
                for handler in node.handlers:
                    self.expressions([handler.type])
                    self.block(handler.body)
                self.block(node.orelse)
                self.block(node.finalbody)
            case ast.Match():
                if self.cases(node) == []:
                    self.rewrite.kill(self.source.start(node), self.source.end(node))
            case ast.Expr(value=ast.Call() as call) | ast.Assign(targets=[ast.Name()], value=ast.Call() as call) if (
                self.is_setdefault(call)
            ):
                self.set_variable(node, call)
            case _:
                self.children(node)

    def function(self, node: FunctionNode) -> None:
        """Freeze a function: its defaults, signature and body."""
        self.facts.function_flow(self.module, self.module.scope.scopes[node])
        arguments = node.args
        self.expressions([*node.decorator_list, *arguments.defaults, *arguments.kw_defaults])
        taken = self.configs.takers.get(node, set())
        if taken:
            self.parameters(node, taken)
        self.block(node.body)

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
        for occurrence in occurrences:
            alone = occurrence.kind == "load" and occurrence.home() is self.module.scope and not self.facts.troubles
            if alone and self.facts.is_parser(self.module, occurrence) and not dead(occurrence.start):
                message = "the parser of the command line is needed here, and the artifact has none"
                remedy = "give what it parses a name, `args = parser.parse_args()`, and use that"
                self.problem(occurrence.start, "BLD022", message, remedy)
        for occurrence in occurrences if lost else []:
            if occurrence.kind == "load" and not dead(occurrence.start):
                key = (occurrence.home(), occurrence.name)
                if key in lost and self.facts.is_parser(self.module, occurrence) and not self.facts.troubles:
                    message = "the parser of the command line is needed here, and the artifact has none"
                    remedy = "give what it parses a name, `args = parser.parse_args()`, and use that"
                    self.problem(occurrence.start, "BLD022", message, remedy)
                elif (
                    key in lost
                    and not self.facts.troubles
                    and not self.configs.holds(key)
                    and self.bindings.of(self.module, occurrence) is None
                ):
                    self.problem(
                        occurrence.start,
                        "BLD031",
                        f"`{occurrence.name}` is bound only in a branch that these knobs never take, and read here",
                        "bind it before the branch, or read it only inside of it",
                    )
        self.check_generators()

    def check_generators(self) -> None:
        """A function must not stop being a generator."""
        for scope in {occurrence.scope for occurrence in self.module.by_part.get(self.index, [])}:
            if scope.kind == "function":
                yields = [self.source.start(node) for node in _yields(scope.node)]
                assert isinstance(scope.node, FunctionNode)
                alive = not self.rewrite.is_dead(self.source.start(scope.node))
                if yields and all(map(self.rewrite.is_dead, yields)) and alive:
                    self.problem(
                        scope.node,
                        "BLD031",
                        "a generator whose every `yield` is folded away",
                        "write two functions and choose one",
                    )


def _matches(pattern: ast.pattern, value: Any) -> bool | None:
    """Whether a pattern of plain values fits a value; None for any other pattern."""
    match pattern:
        case ast.MatchAs(pattern=None, name=None):
            return True
        case ast.MatchSingleton():
            return pattern.value is value
        case ast.MatchValue(value=ast.Constant() as constant):
            return bool(constant.value == value)
        case ast.MatchOr():
            fits = [_matches(part, value) for part in pattern.patterns]
            return True if True in fits else None if None in fits else False
    return None


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

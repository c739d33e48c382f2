"""Freezing expressions: knobs become literals, and what they decide is folded, in the text and among the decisions
alike.
"""

from __future__ import annotations

import ast
import fnmatch
import keyword
import math
from typing import Any

from builder import strings, trees, values
from builder.bindings import Outside, Variable
from builder.configs import FunctionNode
from builder.edits import Span
from builder.facts import Facts
from builder.flow import tells, variable_of
from builder.objects import Function
from builder.options import Options
from builder.rewrite import Rewrite
from builder.scan import External, Module
from builder.scopes import Occurrence
from builder.surgery import Surgeon
from builder.trees import root_of
from builder.values import Run

HOW = "read its fields, or pass it to a parameter annotated with the config class; nothing else can be frozen"
WIDTH = 120
TIGHT = (ast.BinOp, ast.UnaryOp, ast.Await)


class Expressions(Surgeon):
    """Freezes the expressions of one module's parts."""

    def __init__(
        self,
        module: Module,
        rewrite: Rewrite,
        facts: Facts,
        origins: dict[ast.expr, Options],
        stores: set[ast.stmt],
    ) -> None:
        super().__init__(module.source, rewrite)
        self.module = module
        self.facts = facts
        self.bindings = facts.bindings
        self.configs = facts.configs
        self.config = facts.config
        self.origins = origins  # calls that give options which stay an object
        self.stores = stores  # statements that set options which do not
        self.inlined: dict[int, bool] = {}  # where a field of an f-string was, and whether a brace took its place
        self.index = 0  # of the part

    def problem(self, node: ast.AST | int, code: str, message: str, remedy: str) -> None:
        """Note what cannot be done; it counts where the code is kept."""
        offset = node if isinstance(node, int) else self.source.start(node)  # type: ignore[arg-type]
        self.rewrite.problems.append((self.index, offset, self.module.problem(offset, code, message, remedy)))

    def decide(self, node: ast.expr) -> tuple[bool, Any]:
        """Whether knobs alone decide an expression, and its value."""
        known = self.facts.known_at(node)
        if known is not None:
            return bool(known[1]), known[0]
        run = Run()
        try:
            value = self.facts.evaluator(self.module, run).evaluate(node)
        except (values.UnknownValueError, values.RaisedError) as error:
            if isinstance(node, (ast.Call, ast.Subscript, ast.Compare)):
                self.rewrite.undecided[node] = error
            return False, None
        if run.read and tells(node):
            self.facts.note(variable_of(node, run.read), value, tuple(run.used), self.facts.place(self.module, node))
        elif run.read and isinstance(node, ast.Compare):
            for operand in (node.left, *node.comparators):
                self.decide(operand)
        return bool(run.used), value

    def is_config(self, node: ast.expr) -> bool:
        """Whether an expression is the config."""
        return self.configs.is_config(self.module, node)

    def expressions(self, nodes: list[Any]) -> None:
        """Freeze expressions, absent ones left aside."""
        for node in nodes:
            if node is not None:
                self.expression(node)

    def children(self, node: ast.AST) -> None:
        """Freeze the expressions directly inside a node."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.expression(child)
            elif isinstance(child, (ast.keyword, ast.comprehension, ast.pattern, ast.arguments)):
                self.children(child)

    def expression(self, node: ast.expr, parent: ast.AST | None = None) -> None:
        """Freeze one expression; `parent` is the node around it where its form matters."""
        match node:
            case ast.Attribute() if self.is_config(node.value):
                self.field(node, parent)
            case ast.Call() if self.is_asdict(node):
                assert self.config
                self.literal(node, {name: knob.value for name, knob in self.config.knobs.items()}, parent)
            case ast.Call() if self.is_vars(node):
                record = self.configs.record(self.module, node.args[0])
                assert record
                self.literal(node, {name: record.read(name) for name in record.value_names()}, parent)
            case ast.Call() if self.look_up(node, parent):
                pass
            case ast.Call() | ast.Subscript() if node in self.origins:
                self.namespace(node, self.origins[node])
            case ast.Call() | ast.ListComp() | ast.DictComp() if self.read(node, parent):
                pass
            case ast.Name() | ast.Call() if self.is_config(node):
                self.problem(
                    node,
                    "BLD030",
                    f"the config is used as a value: `{self.text[self.source.start(node) : self.source.end(node)]}`",
                    HOW,
                )
            case ast.Call():
                self.call(node)
            case ast.Subscript(value=ast.Dict()) if self.lookup(node, parent):
                pass
            case ast.Subscript(ctx=ast.Load()) if self.reads_arguments(node.value) and self.read(node, parent):
                pass
            case ast.Attribute() | ast.Name() if self.reads_arguments(node) and self.is_words(node, parent):
                self.literal(node, self.decide(node)[1], parent)
            case ast.Compare() | ast.Subscript():
                self.foldable(node, parent)
            case ast.BoolOp():
                self.boolean(node, parent)
            case ast.IfExp():
                self.conditional(node, parent)
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
        """Whether a call is `dataclasses.asdict(config)`."""
        occurrence = self.module.by_node.get(root_of(node.func))
        if occurrence is None or len(node.args) != 1 or node.keywords or not self.is_config(node.args[0]):
            return False
        reference = self.bindings.of(self.module, occurrence)
        path = getattr(reference.meaning, "path", "") if reference else ""
        return ".".join([path, *(a.attr for a in occurrence.attributes)]) == "dataclasses.asdict"

    def look_up(self, node: ast.Call, parent: ast.AST | None) -> bool:
        """`getattr(args, "lr", 0.1)` and `hasattr(args, "lr")` of options that go become their value."""
        match node:
            case ast.Call(
                func=ast.Name(id="getattr" | "hasattr") as name, args=[owner, ast.Constant(value=key), *default]
            ):
                record = self.configs.record(self.module, owner)
            case _:
                return False
        if record is None or not isinstance(key, str):
            return False
        known = key in record.value_names()
        if name.id == "hasattr":
            self.literal(node, known, parent)
        elif known:
            self.literal(node, record.read(key), parent)
        elif default:
            self.replace_by(node, default[0], parent)
        else:
            self.problem(node, "BLD030", f"there is no option `{key}`", "correct the name, or give a default")
        return True

    def replace_by(self, node: ast.expr, inner: ast.expr, parent: ast.AST | None) -> None:
        """Leave of an expression one that stands inside of it."""
        source = self.source
        start, end = source.start(node), source.end(node)
        low, high = source.start(inner), source.end(inner)
        plain = isinstance(inner, (ast.Name, ast.Attribute, ast.Constant, ast.Call))
        self.edit(start, end, *([Span(low, high)] if plain else ["(", Span(low, high), ")"]))
        self.rewrite.kill(start, low)
        self.rewrite.kill(high, end)
        self.rewrite.expressions[node] = inner
        self.expression(inner, parent)

    def is_vars(self, node: ast.Call) -> bool:
        """Whether a call is `vars(args)` of options that go."""
        if not (isinstance(node.func, ast.Name) and node.func.id == "vars" and len(node.args) == 1):
            return False
        return self.configs.record(self.module, node.args[0]) is not None

    def is_words(self, node: ast.expr, parent: ast.AST | None) -> bool:
        """Whether `sys.argv` is only read here, and not for the program's own path."""
        own = isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Constant) and parent.slice.value == 0
        return not own and self.facts.is_only_read(self.module, node)

    def reads_arguments(self, node: ast.expr) -> bool:
        """Whether an expression is `sys.argv`."""
        return isinstance(node, (ast.Attribute, ast.Name)) and (
            self.facts.evaluator(self.module).path(node) == "sys.argv"
        )

    def read(self, node: ast.Call | ast.ListComp | ast.DictComp | ast.Subscript, parent: ast.AST | None) -> bool:
        """Put its value in the place of a call (or comprehension) that reads the environment, the command line or
        helpers of those.
        """
        inside = [child for child in trees.nodes(node) if isinstance(child, (ast.Call, ast.Subscript, ast.Attribute))]
        if not any(map(self.is_read, inside)) or any(map(self.is_for_others, inside)):
            return False
        decided, value = self.decide(node)
        if decided and _is_literal(value):
            if self.facts.resolve(self.module, node, value):
                self.literal(node, value, parent)
                return True
            return False  # a function of the program that knobs are given to: its call says more than a number
        return isinstance(node, ast.Call) and self.read_default(node, parent)

    def is_read(self, node: ast.Call | ast.Subscript | ast.Attribute) -> bool:
        """Whether a node itself is a read of the environment or command line, or a call of a function of the recipe."""
        if isinstance(node, ast.Attribute):
            return self.facts.evaluator(self.module).path(node) == "sys.argv"
        function = node.func if isinstance(node, ast.Call) else node.value
        if self.facts.evaluator(self.module).reads_environment(function):
            return True
        occurrence = self.module.by_node.get(root_of(function))
        reference = self.bindings.of(self.module, occurrence) if occurrence else None
        if occurrence is None or not isinstance(node, ast.Call):
            return False
        if reference is None:
            return occurrence.home() is not self.module.scope and isinstance(function, ast.Name)
        return isinstance(reference.meaning, Variable)

    def read_default(self, node: ast.Call, parent: ast.AST | None) -> bool:
        """`os.environ.get("X", make())` becomes `make()` where X is not set."""
        if len(node.args) != 2 or node.keywords or isinstance(node.args[1], ast.Starred):
            return False
        if self.facts.evaluator(self.module).path(node.func) not in ("os.environ.get", "os.getenv"):
            return False
        short = ast.copy_location(ast.Call(node.func, node.args[:1], []), node)
        decided, value = self.decide(short)
        if not decided or value is not None:
            return False
        self.replace_by(node, node.args[1], parent)
        return True

    def namespace(self, node: ast.expr, options: Options) -> None:
        """Options that stay an object are made with their values."""
        fields = []
        for name, value in options.parsed.first.items():
            text = strings.literal(value)
            if isinstance(value, Function):
                message = f"the option `{name}` holds a function, and no text of the artifact can choose it"
                self.problem(node, "BLD032", message, "keep its name in the option, and choose with `if` or a table")
                return
            if text is None or not name.isidentifier() or keyword.iskeyword(name):
                self.problem(
                    node, "BLD032", f"the option `{name}` = {value!r} cannot be written", "give it a plain value"
                )
                return
            fields.append(f"{name}={text}")
        bound = self.module.scope.bound.get("argparse", [])
        found = self.bindings.import_of(bound[0]) if len(bound) == 1 else None
        if found is None or found.target != External("argparse", None):
            message = "the options stay an object, which is made by argparse.Namespace(...)"
            self.problem(node, "BLD022", message, "write `import argparse` at the top of this module")
            return
        text = f"argparse.Namespace({', '.join(fields)})"
        start, end = self.source.start(node), self.source.end(node)
        if start - self.source.line_start(start) + len(text) > WIDTH:
            line = self.text[self.source.line_start(start) : start]
            indent = line[: len(line) - len(line.lstrip())]
            text = "argparse.Namespace(\n" + "".join(f"{indent}    {field},\n" for field in fields) + f"{indent})"
        if options.parsed.rest is not None:
            text = f"({text}, {strings.literal(options.parsed.rest)})"
        self.edit(start, end, text)
        self.rewrite.kill(start, end)
        self.rewrite.expressions[node] = ast.parse(text, mode="eval").body
        self.rewrite.needs.append((self.index, Outside("argparse", "argparse", None)))

    def is_setdefault(self, node: ast.expr) -> bool:
        """Whether a call is `os.environ.setdefault("NAME", value)`."""
        match node:
            case ast.Call(func=ast.Attribute(attr="setdefault") as func, args=[ast.Constant(value=str()), _]):
                return self.facts.evaluator(self.module).path(func) == "os.environ.setdefault"
        return False

    def is_for_others(self, node: ast.expr) -> bool:
        """Whether a call sets a variable that compilers or libraries read. (A knob's own is gone anyway.)"""
        if not self.is_setdefault(node):
            return False
        assert isinstance(node, ast.Call)
        assert isinstance(node.args[0], ast.Constant)
        patterns = self.facts.program.settings.profile.environment.matters
        return any(fnmatch.fnmatchcase(str(node.args[0].value), pattern) for pattern in patterns)

    def set_variable(self, statement: ast.stmt, node: ast.Call) -> None:
        """`os.environ.setdefault("X", value)` sets what it would have left: nothing outside decides any more.

        `NAME = os.environ.setdefault(...)` becomes an assignment to both.
        """
        source, (name, value) = self.source, node.args
        assert isinstance(node.func, ast.Attribute)
        assert isinstance(name, ast.Constant)
        if self.facts.program.settings.is_owned(str(name.value)):
            self.children(node)
            return
        given = self.facts.environment.read(str(name.value), self.facts.place(self.module, node))
        start, end = source.start(node), source.end(node)
        low, high = source.start(value), source.end(value)
        owner = node.func.value
        target = ast.Subscript(owner, name, ast.Store())
        before = statement.targets if isinstance(statement, ast.Assign) else []
        prefix = (Span(start, source.end(owner)), f"[{self.text[source.start(name) : source.end(name)]}] = ")
        self.rewrite.kill(source.end(owner), low)
        if given is None:
            self.edit(start, end, *prefix, Span(low, high))
            self.rewrite.kill(high, end)
            self.expression(value, node)
            self.rewrite.statements[statement] = [ast.Assign([*before, target], value, lineno=node.lineno)]
            return
        written = strings.literal(given)
        assert written is not None
        self.edit(start, end, *prefix, written)
        self.rewrite.kill(low, end)
        self.rewrite.statements[statement] = [ast.Assign([*before, target], ast.Constant(given), lineno=node.lineno)]

    def field(self, node: ast.Attribute, parent: ast.AST | None) -> None:
        """`config.width` becomes its value."""
        record = self.configs.record(self.module, node.value) or self.config
        assert record
        try:
            value = record.read(node.attr)
        except KeyError:
            known = ", ".join(record.value_names())
            self.problem(node, "BLD030", f"the config has no field `{node.attr}`", f"it has: {known}")
            return
        except values.UnknownValueError as error:
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
        occurrence = self.first_name(node)
        quote = occurrence.quote if occurrence else ""
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
        tight = (isinstance(parent, TIGHT) and negative) or (
            isinstance(parent, (ast.Attribute, ast.Subscript)) and (negative or text.isdigit())
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
        occurrence = self.first_name(node)
        form = field.format_spec
        if occurrence is None or not isinstance(value, (str, int, float)):
            return False
        if isinstance(form, ast.JoinedStr) and not all(isinstance(part, ast.Constant) for part in form.values):
            return False
        converted = {ord("r"): repr, ord("a"): ascii}.get(field.conversion, lambda value: value)(value)
        spec = "".join(str(part.value) for part in form.values if isinstance(part, ast.Constant)) if form else ""  # type: ignore[attr-defined]
        try:
            shown = format(converted, spec)
        except ValueError:
            return False  # the program raises here, and shall
        text = strings.formatted(shown, quote, occurrence.raw)
        if text is None:
            return False
        start, end = self.source.start(node), self.source.end(node)
        while self.text[start] != "{":
            start -= 1
        while self.text[end - 1] != "}":
            end += 1
        behind = self.text[self.source.end(node) : end - 1].strip()
        if self.text[start + 1 : self.source.start(node)].strip() or (behind and behind[0] not in "!:"):
            return False  # parentheses, or a label
        self.edit(start, end, text)
        self.rewrite.kill(start, end)
        self.rewrite.expressions[field] = ast.Constant(shown)
        self.inlined[start] = "{" in shown or "}" in shown
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

    def first_name(self, node: ast.expr) -> Occurrence | None:
        """Some name in an expression: it knows whether there is an f-string around."""
        found = (self.module.by_node.get(child) for child in trees.nodes(node))
        return next((occurrence for occurrence in found if occurrence is not None), None)

    def lookup(self, node: ast.Subscript, parent: ast.AST | None) -> bool:
        """`{"nki": A, "torch": B}[config.norm]` becomes `A`, when leaving the others out cannot be noticed."""
        table = node.value
        decided, wanted = self.decide(node.slice)
        assert isinstance(table, ast.Dict)
        if not decided or not isinstance(node.ctx, ast.Load):
            return False
        if not all(isinstance(key, ast.Constant) for key in table.keys) or not all(map(is_quiet, table.values)):
            return False
        chosen = [
            v
            for k, v in zip(table.keys, table.values, strict=True)
            if isinstance(k, ast.Constant) and k.value == wanted
        ]
        if not chosen:
            return False  # the program raises KeyError here, and shall
        source = self.source
        start, end = source.start(node), source.end(node)
        low, high = source.start(chosen[-1]), source.end(chosen[-1])
        simple = isinstance(chosen[-1], (ast.Name, ast.Attribute, ast.Constant)) or not isinstance(
            parent, (*TIGHT, ast.Attribute, ast.Call)
        )
        self.edit(start, end, *([Span(low, high)] if simple else ["(", Span(low, high), ")"]))
        self.rewrite.kill(start, low)
        self.rewrite.kill(high, end)
        self.rewrite.expressions[node] = chosen[-1]
        self.expression(chosen[-1], parent)
        return True

    def foldable(self, node: ast.expr, parent: ast.AST | None) -> bool:
        """Replace a comparison or boolean operation that knobs decide by its value, else freeze what is inside."""
        is_target = isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load)
        decided, value = (False, None) if is_target else self.decide(node)
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
        """Take operands out of a boolean operator; `stopped`: nothing behind the last kept one is evaluated."""
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

    def conditional(self, node: ast.IfExp, parent: ast.AST | None) -> None:
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
        whole, plain = self.decide(node)
        if isinstance(parent, ast.FormattedValue) and whole and isinstance(plain, values.PLAIN):
            self.literal(node, plain, parent)
            return
        low, high = source.grow(source.start(chosen), source.end(chosen), start, end)
        if isinstance(parent, (ast.BinOp, ast.Compare)) and isinstance(chosen, (ast.Constant, ast.Name, ast.Call)):
            start, end = source.grow(start, end, source.start(parent), source.end(parent))  # needs no parentheses now
        self.edit(start, end, Span(low, high))
        self.rewrite.kill(start, low)
        self.rewrite.kill(high, end)
        self.rewrite.expressions[node] = chosen
        self.expression(chosen, node)

    def call(self, node: ast.Call) -> None:
        """Freeze a call, and take config arguments out of it."""
        occurrence = self.module.by_node.get(root_of(node.func))
        if occurrence is not None and self.configs.is_loader(self.module, occurrence):
            message = "the loader is called for other arguments than the command line's: it makes another config"
            self.problem(node, "BLD030", message, "call it without arguments or with sys.argv[1:]")
        self.expression(node.func, node)
        passed: list[ast.expr | ast.keyword] = [a for a in node.args if self.is_config(a)]
        passed += [k for k in node.keywords if self.is_config(k.value)]
        if passed:
            self.pass_config(node, passed)
        for argument in node.args:
            if argument not in passed:
                self.expression(argument, node)
        for named in node.keywords:
            if named not in passed:
                self.expression(named.value, named)

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
        arguments: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
        arguments.sort(key=self.source.start)
        self.rewrite.removed.update(passed)
        low, high = self.source.end(node.func), self.source.end(node)
        spans = []
        for argument in arguments:
            start, end = self.source.start(argument), self.source.end(argument)
            opening = self.text.index("(", low) + 1
            spans.append(self.source.grow(start, end, opening, high - 1))
        self.remove_items(spans, [a in passed for a in arguments], self.text.index("(", low) + 1, high - 1)


def _is_literal(value: Any) -> bool:
    """Whether a value can be written, and is made anew by the call that it stands for."""
    if isinstance(value, list):
        return all(map(_is_literal, value))
    if isinstance(value, dict):
        return all(values.is_constant(key) and _is_literal(item) for key, item in value.items())
    return values.is_constant(value)


def is_quiet(node: ast.expr) -> bool:
    """Whether evaluating an expression cannot be noticed: constants, names, functions written in place; and what is
    true of several.
    """
    match node:
        case ast.Constant() | ast.Name() | ast.Lambda():
            return True
        case ast.Attribute():
            return is_quiet(node.value)
        case ast.BoolOp():
            return all(map(is_quiet, node.values))
        case ast.UnaryOp(op=ast.Not()):
            return is_quiet(node.operand)
    return False

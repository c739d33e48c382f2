"""Checks of models that compute one thing while they are trained and another one while they are scored (L6)."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.applied import applied, values
from scorer.rules.endings import always_raises
from scorer.rules.fullnames import BY_STRING
from scorer.rules.scopes import scopes
from scorer.rules.source import Hit, Source
from scorer.rules.taint import Taint

SETTINGS = re.compile(r"^(cfg|conf|config|args|opts?|options|settings|params|hparams|flags|FLAGS)$|_(cfg|config|args)$")
SPEAKS = {"print", "print0", "log", "log0", "info", "debug", "warning"}
SETS_MODE = {"train", "eval", "requires_grad_"}
GRADIENT = {
    *("torch.is_grad_enabled", "torch.is_inference_mode_enabled", "torch.is_inference", "torch._C._is_grad_enabled"),
    *("torch._C.is_inference_mode_enabled", "torch.autograd.grad_mode.is_grad_enabled"),
}
GETTERS = {"operator.attrgetter", "operator.itemgetter", "operator.methodcaller"}
LOOKS_UP = {"__getattribute__", "get"}
IN_A_FORMAT = re.compile(r"\{[^{}]*\btraining\b")  # "{0.training}".format(model)
RECOMPUTES = "torch.utils.checkpoint."


def training_branch(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """A choice that depends on the training mode of a module."""
    asks = _asks_mode(source)
    hits = [*_choices(source, Taint(source, asks, ast.Attribute, ast.Name, ast.Call, ast.Subscript, ast.Compare))]
    lines = {hit.line for hit in hits}
    for call in source.every(ast.Call):  # where it takes pains to say "training", what comes of it does not matter
        if call.lineno not in lines and asks(call) and _is_hidden(source, call):
            lines.add(call.lineno)
            hits.append(Hit(call.lineno, {"TEXT": ast.unparse(call).splitlines()[0]}))
    yield from sorted(hits, key=lambda hit: hit.line)
    for node in source.every(ast.MatchClass):  # case Model(training=True)
        if "training" in node.kwd_attrs:
            yield Hit(node.lineno, {"TEXT": ast.unparse(node)})


def gradient_branch(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """A choice that depends on whether gradients are recorded, except for recomputing activations."""
    inputs = _forward_inputs(source)

    def asks(node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            return source.resolve(node.func) in GRADIENT or method == "is_inference"
        if isinstance(node, ast.Attribute) and node.attr in {"requires_grad", "grad_fn"}:
            return isinstance(node.value, ast.Name) and scopes(source).key(node.value.id, node.value) in inputs
        return False

    taint = Taint(source, asks, ast.Call, ast.Attribute)
    yield from _choices(source, taint, spares=lambda nodes: _recomputes(source, nodes))


def _forward_inputs(source: Source) -> set[tuple[int, str] | None]:
    """The parameters of every `forward` of a module; those of an autograd function see other flags."""
    found: set[tuple[int, str] | None] = set()
    for function in source.functions:
        names = [argument.arg for argument in function.args.args]
        if function.name in {"forward", "__call__"} and names[:1] == ["self"]:
            found |= {(id(function), name) for name in names[1:]}
    return found


def _recomputes(source: Source, nodes: Sequence[ast.AST]) -> bool:
    calls = [n for n in source.walk_all(nodes) if isinstance(n, ast.Call)]
    return any((source.resolve(call.func) or "").startswith(RECOMPUTES) for call in calls)


def _asks_mode(source: Source) -> Callable[[ast.AST], bool]:
    """What reads the training mode: `.training` in every spelling, and what `train()` or `eval()` of the file sets."""
    table = scopes(source)
    mode_parameters = {
        (id(f), a.arg)
        for f in source.functions
        if f.name == "train" and isinstance(source.parent(f), ast.ClassDef)
        for a in f.args.args[1:2]
        if a.arg == "mode"
    }
    set_by_eval = {
        node.attr
        for f in source.functions
        if f.name == "eval" and isinstance(source.parent(f), ast.ClassDef)
        for node in source.inside(f, ast.Attribute)
        if isinstance(node.ctx, ast.Store)
    }
    held = table.members["training"].values if "training" in table.members else []
    is_field = any(isinstance(binding.node, ast.AnnAssign) for binding in held)  # of a configuration

    def asks(node: ast.AST) -> bool:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            if is_field or isinstance(source.parent(node), ast.Attribute):
                return False  # config.training.steps
            if node.attr in set_by_eval:
                return True
            base = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
            return node.attr == "training" and not SETTINGS.search(base)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and mode_parameters:
            return table.key(node.id, node) in mode_parameters
        if isinstance(node, ast.Call):
            return any(_named(source, node)) or _lists_own_attributes(source, node)
        if isinstance(node, ast.Subscript) and _is_namespace(source, node.value):
            return _names_mode(source, [node.slice])  # vars(self)["training"]
        if isinstance(node, ast.Compare):  # __setattr__ sees train() and eval()
            around = source.scopes.scope(node).node
            is_setter = isinstance(around, ast.FunctionDef) and around.name == "__setattr__"
            return is_setter and _names_mode(source, [node.left, *node.comparators])
        return False

    return asks


def _named(source: Source, call: ast.Call) -> Iterator[ast.expr]:
    """The expressions by which a call, or what it applies, reads `training` as a string."""
    for function, arguments in applied(source, call):
        for callee in (function, *values(source, function)):
            name = callee.attr if isinstance(callee, ast.Attribute) else ""
            if name in LOOKS_UP or source.resolve(callee) in BY_STRING:
                yield from (one for one in arguments[:2] if _names_mode(source, [one]))
            elif isinstance(callee, ast.Call) and source.resolve(callee.func) in GETTERS:
                yield from (one for one in callee.args if _names_mode(source, [one]))
    formats = isinstance(call.func, ast.Attribute) and call.func.attr in ("format", "format_map")
    if formats and any(map(IN_A_FORMAT.search, source.texts(call.func.value))):  # type: ignore[attr-defined]
        yield call.func


def _is_hidden(source: Source, call: ast.Call) -> bool:
    """Whether a call reads `training` under a name that is not written there, or by a function that something else
    applies; of settings it may.
    """
    if isinstance(call.func, ast.Attribute) and call.func.attr == "get":
        return False
    names = [*_named(source, call)]
    written = [argument for argument in call.args if isinstance(argument, ast.Constant)]
    owner = call.args[0] if call.args else None
    settings = isinstance(owner, ast.Name) and SETTINGS.search(owner.id) is not None
    return not settings and any(name not in written for name in names)


def _lists_own_attributes(source: Source, call: ast.Call) -> bool:
    """`vars(self).items()` in a model: the mode is among them."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("items", "values"):
        return False
    namespace = call.func.value
    if not _is_namespace(source, namespace):
        return False
    owner = namespace.value if isinstance(namespace, ast.Attribute) else getattr(namespace, "args", [None])[0]
    model = source.calls.class_of(owner) if owner is not None else None
    return model is not None and any(isinstance(s, ast.FunctionDef) and s.name == "forward" for s in model.body)


def _names_mode(source: Source, arguments: Sequence[ast.expr]) -> bool:
    """Whether one of a call's arguments may be the string "training", however it is put together."""
    return any("training" in source.texts(argument) for argument in arguments)


def _is_namespace(source: Source, node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "__dict__"
    if isinstance(node, ast.Name):
        return any(not isinstance(value, ast.Name) and _is_namespace(source, value) for value in values(source, node))
    state = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "__getstate__"
    return state or (isinstance(node, ast.Call) and source.resolve(node.func) == "builtins.vars")


def _choices(
    source: Source, taint: Taint, spares: Callable[[Sequence[ast.AST]], bool] = lambda nodes: False
) -> Iterator[Hit]:
    """Every place at which a marked value decides what runs, each line once."""
    if not taint.any:
        return
    lines: dict[int, str] = {}
    kinds = (ast.If, ast.IfExp, ast.While, ast.For, ast.Match, ast.comprehension, ast.BoolOp, ast.Subscript)
    for node in source.every(*kinds, ast.BinOp, ast.Call):
        for asked in _asked(source, node, taint):
            harmless = isinstance(node, (ast.If, ast.While)) and _harmless(source, [*node.body, *node.orelse])
            if taint.inside(asked) and not harmless and not spares([node, *_after(source, node)]):
                lines.setdefault(asked.lineno, ast.unparse(asked).splitlines()[0])
    for line, text in sorted(lines.items()):
        yield Hit(line, {"TEXT": text})


def _after(source: Source, node: ast.AST) -> list[ast.AST]:
    """What follows a branch that leaves its block: it runs where the condition does not hold."""
    if not isinstance(node, ast.If) or not isinstance(node.body[-1], ast.Return):
        return []
    block = getattr(source.parent(node), "body", [])
    return block[block.index(node) + 1 :] if isinstance(block, list) and node in block else []


def _asked(source: Source, node: ast.AST, taint: Taint) -> list[ast.expr]:
    """The expressions by which a node chooses."""
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        return [] if _is_dropout(source, node) else [node.test]
    if isinstance(node, ast.Match):
        return [node.subject]
    if isinstance(node, ast.comprehension):
        return [*node.ifs, *_times(source, node.iter)]
    if isinstance(node, ast.For):
        return _times(source, node.iter)
    if isinstance(node, ast.BoolOp):
        return node.values[:-1] if not isinstance(_statement_of(source, node), ast.Assert) else []
    if isinstance(node, ast.Subscript) and not taint.marked(node):
        return [node.slice]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Call) and source.resolve(node.func) == "torch.where":
        return node.args[:1]
    return []


def _times(source: Source, node: ast.expr) -> list[ast.expr]:
    """By what a loop over `range(...)` decides how often it runs."""
    return node.args if isinstance(node, ast.Call) and source.resolve(node.func) == "builtins.range" else []


def _is_dropout(source: Source, node: ast.AST) -> bool:
    """`dropout_p=self.dropout if self.training else 0.0`: how torch's functions are told of the mode."""
    parent = source.parent(node)
    named = isinstance(parent, ast.keyword) and parent.arg in {"p", "dropout", "dropout_p"}
    sides = [node.body, node.orelse] if isinstance(node, ast.IfExp) else []
    return named and any(isinstance(side, ast.Constant) and side.value == 0 for side in sides)


def _statement_of(source: Source, node: ast.AST) -> ast.AST:
    around: ast.AST | None = node
    while around is not None and not isinstance(around, ast.stmt):
        around = source.parent(around)
    return around or node


def _harmless(source: Source, body: Sequence[ast.stmt]) -> bool:
    """Whether statements only refuse, speak, or set the mode back."""
    return all(
        isinstance(statement, (ast.Raise, ast.Pass, ast.Assert))
        or always_raises(source, [statement])
        or (isinstance(statement, ast.Expr) and _only_speaks(statement.value))
        for statement in body
    )


def _only_speaks(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return True
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in SPEAKS | SETS_MODE

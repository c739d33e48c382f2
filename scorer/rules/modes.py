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
from scorer.rules.numerals import number
from scorer.rules.scopes import scopes
from scorer.rules.source import Hit, Source
from scorer.rules.taint import PASSES, Taint

SETTINGS = re.compile(r"^(cfg|conf|config|args|opts?|options|settings|params|hparams|flags|FLAGS)$|_(cfg|config|args)$")
SPEAKS = {"print", "print0", "log", "log0", "info", "debug", "warning"}
SETS_MODE = {"train", "eval", "requires_grad_"}
GRADIENT = {
    *("torch.is_grad_enabled", "torch.is_inference_mode_enabled", "torch.is_inference", "torch._C._is_grad_enabled"),
    *("torch._C.is_inference_mode_enabled", "torch.autograd.grad_mode.is_grad_enabled"),
}
GETTERS = {"operator.attrgetter", "operator.itemgetter", "operator.methodcaller"}
# Beginnings of what computes otherwise while it is trained.
MODE_LAYERS = (
    *("torch.nn.Dropout", "torch.nn.AlphaDropout", "torch.nn.FeatureAlphaDropout", "torch.nn.RReLU"),
    *("torch.nn.BatchNorm", "torch.nn.modules.dropout.", "torch.nn.modules.batchnorm."),
)
MODE_FUNCTIONS = (
    *("torch.nn.functional.dropout", "torch.nn.functional.alpha_dropout", "torch.nn.functional.feature_alpha_dropout"),
    *("torch.nn.functional.rrelu", "torch.nn.functional.batch_norm", "torch.dropout", "torch.alpha_dropout"),
)
SAME = {"torch.equal", "torch.allclose", "torch.eq", "torch.isclose"}
CONSTANTS = {
    *("torch.ones", "torch.zeros", "torch.full", "torch.tensor", "torch.eye", "torch.arange", "torch.linspace"),
    *("torch.ones_like", "torch.zeros_like", "torch.full_like", "torch.as_tensor"),
}
CASTS = {"to", "float", "bfloat16", "half"}
NEW = {"new_ones", "new_zeros", "new_full", "new_tensor"}
LISTS_NAMES = {"builtins.dir", "inspect.getmembers", "inspect.getmembers_static"}
VIEWS = {"items", "values", "keys"}
COPIES = {"__repr__", "extra_repr", "__getstate__", "__setstate__", "__deepcopy__", "__copy__", "__reduce__", "__dir__"}
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
    yield from sorted([*hits, *_probed(source, lines)], key=lambda hit: hit.line)
    for node in source.every(ast.MatchClass):  # case Model(training=True)
        if "training" in node.kwd_attrs:
            yield Hit(node.lineno, {"TEXT": ast.unparse(node)})


def _probed(source: Source, lines: set[int]) -> list[Hit]:
    """A layer that trains otherwise than it scores, used to ask for the mode: its dropout of a constant, or of
    everything, or what it gives compared with what it was given. Not on `lines`, which have been reported.
    """
    by_mode = _calls_by_mode(source)
    if not by_mode:
        return []

    def asks(node: ast.AST) -> bool:
        if isinstance(node, ast.Call) and id(node) in by_mode:
            return _is_plain(source, node.args[0])
        sides: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and source.resolve(node.func) in SAME:
            sides = node.args[:2]
        for side in sides:
            for one in (side, *values(source, side)):
                if isinstance(one, ast.Call) and id(one) in by_mode:
                    given = ast.dump(one.args[0])
                    return any(other is not side and ast.dump(other) == given for other in sides)
        return False

    hits = [*_choices(source, Taint(source, asks, ast.Call, ast.Compare), arithmetic=False)]
    seen = lines | {hit.line for hit in hits}
    for call in source.every(ast.Call):
        if id(call) in by_mode and call.lineno not in seen and _drops_all(source, by_mode[id(call)]):
            seen.add(call.lineno)
            hits.append(Hit(call.lineno, {"TEXT": ast.unparse(call).splitlines()[0]}))
    return [hit for hit in hits if hit.line not in lines]


def _calls_by_mode(source: Source) -> dict[int, list[ast.Call]]:
    """Calls of layers and functions that compute otherwise while they are trained, by id, each with what made them."""
    found: dict[int, list[ast.Call]] = {}
    for call in _calls_of(source, MODE_FUNCTIONS):
        mode = [k.value for k in call.keywords if k.arg in ("training", "train")] or call.args[2:3]
        if call.args and mode and not isinstance(mode[0], ast.Constant):
            found[id(call)] = [call]
    holders: dict[str, list[ast.Call]] = {}
    for layer in _calls_of(source, MODE_LAYERS):
        around: ast.AST | None = layer
        while around is not None and not isinstance(around, ast.stmt):
            around = source.parent(around)
        for target in around.targets if isinstance(around, ast.Assign) else ():
            name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
            holders.setdefault(name, []).append(layer)
        direct = source.parent(layer)
        if isinstance(direct, ast.Call) and direct.func is layer and direct.args:
            found[id(direct)] = [layer]
    for name, layers in holders.items():
        found.update((id(call), layers) for call in scopes(source).calls.get(name, ()) if call.args)
    return found


def _calls_of(source: Source, beginnings: tuple[str, ...]) -> list[ast.Call]:
    """Calls of what has one of these names, and of the file's own classes that derive from it."""
    named = [node for full in source.named if full.startswith(beginnings) for node in source.named[full]]
    found = [call for node in named if isinstance(call := source.parent(node), ast.Call) and call.func is node]
    derived = [own for node in named if isinstance(own := source.parent(node), ast.ClassDef) and node in own.bases]
    return [*found, *(call for own in derived for call in scopes(source).calls.get(own.name, ()))]


def _drops_all(source: Source, layers: list[ast.Call]) -> bool:
    """Whether a dropout keeps nothing while it is trained: what it gives is the mode."""
    for layer in layers:
        full = source.resolve(layer.func) or ""
        place = 1 if full.startswith(MODE_FUNCTIONS) else 0
        given = [k.value for k in layer.keywords if k.arg == "p"] or layer.args[place : place + 1]
        share = number(source, given[0]) if given and "ropout" in full else None
        if share is not None and share >= 1:
            return True
    return False


def _is_plain(source: Source, node: ast.AST, depth: int = 0) -> bool:
    """Whether a tensor is a constant: ones, zeros and the like, of whatever size."""
    if depth > 3 or isinstance(node, ast.Constant):
        return depth <= 3
    if isinstance(node, ast.BinOp):
        return _is_plain(source, node.left, depth + 1) and _is_plain(source, node.right, depth + 1)
    if isinstance(node, ast.Call):
        if source.resolve(node.func) in CONSTANTS:
            return True
        if not isinstance(node.func, ast.Attribute):
            return False
        return node.func.attr in NEW or (node.func.attr in CASTS and _is_plain(source, node.func.value, depth + 1))
    if isinstance(node, ast.Name):
        held = values(source, node)
        return bool(held) and node not in held and all(_is_plain(source, value, depth + 1) for value in held)
    if isinstance(node, ast.Attribute):
        registered = [
            call.args[1]
            for call in scopes(source).calls.get("register_buffer", ())
            if len(call.args) > 1 and node.attr in source.texts(call.args[0])
        ]
        return any(_is_plain(source, value, depth + 1) for value in registered)
    return False


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

    listed = _listed_attributes(source)

    def asks(node: ast.AST) -> bool:
        if isinstance(node, ast.Attribute) and node.attr == "__dict__":
            return id(node) in listed
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            if is_field or isinstance(source.parent(node), ast.Attribute):
                return False  # config.training.steps
            if node.attr in set_by_eval:
                return True
            base = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
            return node.attr == "training" and not SETTINGS.search(base)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            is_mode = bool(mode_parameters) and table.key(node.id, node) in mode_parameters
            return is_mode or id(node) in listed
        if isinstance(node, ast.Call):
            return any(_named(source, node)) or id(node) in listed
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


def _listed_attributes(source: Source) -> set[int]:
    """Where all that a model holds is gone through, by id: `vars(self).items()`, `iter(self.__dict__)`, `dir(self)`.

    The mode is among it.
    """
    namespaces: list[ast.expr] = [n for n in source.every(ast.Attribute) if n.attr == "__dict__"]
    called = [*source.named.get("builtins.vars", ())]
    called += [n for n in source.every(ast.Attribute) if n.attr == "__getstate__"]
    namespaces += [c for n in called if isinstance(c := source.parent(n), ast.Call) and c.func is n]
    held = {t.id for n in namespaces for t in getattr(source.parent(n), "targets", ()) if isinstance(t, ast.Name)}
    namespaces += [n for n in source.every(ast.Name) if n.id in held] if held else []
    found: dict[int, list[ast.expr]] = {}
    for namespace in namespaces:
        view = source.parent(namespace)
        if _gone_through(source, namespace):
            found[id(namespace)] = _owners(source, namespace)
        elif isinstance(view, ast.Attribute) and view.attr in VIEWS:
            found[id(source.parent(view))] = _owners(source, namespace)
    for _, lister in source.standing_for(*sorted(LISTS_NAMES)):
        call = source.parent(lister)
        if isinstance(call, ast.Call) and call.func is lister:
            found[id(call)] = call.args[:1]
    return {place for place, owners in found.items() if any(_is_shown(source, owner) for owner in owners)}


def _is_shown(source: Source, owner: ast.expr) -> bool:
    """Whether something is a model, elsewhere than where models are copied or printed."""
    around = getattr(source.scopes.scope(owner).node, "name", "")
    own = source.calls.class_of(owner) if around not in COPIES else None
    return own is not None and any(isinstance(s, ast.FunctionDef) and s.name == "forward" for s in own.body)


def _gone_through(source: Source, node: ast.AST) -> bool:
    """Whether all that a dictionary holds is taken out of it."""
    parent = source.parent(node)
    if isinstance(parent, (ast.For, ast.comprehension)):
        return parent.iter is node
    if isinstance(parent, ast.Call) and node in parent.args:
        return source.resolve(parent.func) in PASSES
    return isinstance(parent, ast.Starred)


def _owners(source: Source, namespace: ast.AST) -> list[ast.expr]:
    """Whose attributes a dictionary holds."""
    if isinstance(namespace, ast.Name):
        return [o for v in values(source, namespace) if not isinstance(v, ast.Name) for o in _owners(source, v)]
    if not _is_namespace(source, namespace):
        return []
    if isinstance(namespace, ast.Attribute):
        return [namespace.value]
    called = namespace.func if isinstance(namespace, ast.Call) else None
    if isinstance(called, ast.Attribute) and called.attr == "__getstate__":
        return [called.value]
    return namespace.args[:1] if isinstance(namespace, ast.Call) else []


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
    source: Source,
    taint: Taint,
    spares: Callable[[Sequence[ast.AST]], bool] = lambda nodes: False,
    arithmetic: bool = True,
) -> Iterator[Hit]:
    """Every place at which a marked value decides what runs, or is worked into what comes out; each line once."""
    if not taint.any:
        return
    lines: dict[int, str] = {}
    kinds = (ast.If, ast.IfExp, ast.While, ast.For, ast.Match, ast.comprehension, ast.BoolOp, ast.Subscript)
    for node in source.every(*kinds, ast.Call, *([ast.BinOp] if arithmetic else [])):
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

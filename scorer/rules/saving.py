"""Checks of how the checkpoint is saved: what is in it, under which name, and whether a stop can leave half of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.source import Hit, Source
from scorer.rules.texts import HOLE
from scorer.rules.tree import Function, Way

SAVES = {"torch.save": (0, 1), "torch.jit.save": (0, 1), "torch.serialization.save": (0, 1)}
PICKLES = (
    *(
        "pickle.dump*",
        "pickle.*Pickler*",
        "pickle._dump*",
        "cloudpickle.dump*",
        "dill.dump*",
        "joblib.dump",
        "marshal.dump*",
    ),
    *("shelve.open", "torch.package.PackageExporter", "jsonpickle.*"),
)
# What makes an object that only its own class can read again, by full name of what is called.
MAKERS = {
    "torch.compile": "a compiled model", "torch.nn.parallel.DistributedDataParallel": "a wrapped model",
    "torch.nn.DataParallel": "a wrapped model", "torch.nn.Sequential": "a model", "torch.nn.ModuleList": "a model",
    "torch.nn.ModuleDict": "a model", "torch.optim.*": "an optimizer", "numpy.*": "a NumPy value",
    "pathlib.*": "a path object",
    "datetime.*": "a date object", "argparse.Namespace": "the parsed options", "types.SimpleNamespace": "a namespace",
    "torch.Generator": "a generator",
}  # fmt: skip
PLAIN = (
    "numpy.*.tolist",
    "numpy.*.item",
    "datetime.*.isoformat",
    "datetime.*.strftime",
    "datetime.*.timestamp",
    "pathlib.*.*",
)
RENAMES = {"os.replace", "os.rename", "shutil.move"}
DEPTH = 6


@dataclass(frozen=True)
class Save:
    """One call that saves: what, and where."""

    call: ast.Call
    payload: ast.expr
    path: ast.expr | None


def saves(source: Source) -> list[Save]:
    """Every call of torch.save, in the order of the text."""
    found = []
    for full in SAVES.keys() & source.named.keys():
        for node in source.named[full]:
            call = source.parent(node)
            if isinstance(call, ast.Call) and call.func is node:
                keywords = {keyword.arg: keyword.value for keyword in call.keywords}
                payload = call.args[0] if call.args else keywords.get("obj")
                path = call.args[1] if len(call.args) > 1 else keywords.get("f")
                if payload is not None:
                    found.append(Save(call, payload, path))
    return sorted(found, key=lambda save: source.span(save.call))


def saved_objects(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Pickles, and checkpoints that hold models, optimizers, configurations or other objects instead of values."""
    for _, node in source.standing_for(*PICKLES):
        parent = source.parent(node)
        if not isinstance(parent, (ast.Attribute, ast.Assign)):
            yield source.hit(parent if isinstance(parent, ast.Call) else node, WHAT="a pickle")
    reported: set[int] = set()
    for save in saves(source):
        for value in _values(source, save.payload):
            what = _object(source, value)
            if what is not None and id(value) not in reported:
                reported.add(id(value))
                yield source.hit(value if _same_lines(source, value, save.call) else save.call, WHAT=what)


def _same_lines(source: Source, value: ast.expr, call: ast.Call) -> bool:
    """Whether a value stands inside the call that saves it, so that the finding may point at it."""
    first, _, last, _ = source.span(call)
    return first <= value.lineno - 1 <= last


def unsafe_saves(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Saves whose path nothing renames afterwards."""
    renamed: list[ast.expr] = []
    for node in source.every(ast.Call):
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if source.resolve(node.func) in RENAMES and node.args:
            renamed.append(node.args[0])
        elif isinstance(node.func, ast.Attribute) and method in ("replace", "rename") and len(node.args) == 1:
            renamed.append(node.func.value)
    sources = {ast.dump(path) for path in renamed}
    texts = {text for path in renamed for text in source.exact(path) or ()}
    for save in saves(source):
        if save.path is None or _is_buffer(source, save.path):
            continue
        known = source.exact(save.path)
        opened = _opened_path(source, save.path)
        dumps = {ast.dump(path) for path in (save.path, opened) if path is not None}
        if not (dumps & sources or (known and set(known) <= texts)):
            yield source.hit(save.call)


def _is_buffer(source: Source, path: ast.expr) -> bool:
    """Whether a checkpoint goes into memory."""
    if isinstance(path, ast.Call):
        return source.resolve(path.func) == "io.BytesIO"
    bindings = _bindings(source, path)
    return any(isinstance(value, ast.Call) and source.resolve(value.func) == "io.BytesIO" for _, value in bindings)


def _opened_path(source: Source, path: ast.expr) -> ast.expr | None:
    """The path that `with open(path, "wb") as file` opened, where a file is what is saved to."""
    for _, value in _bindings(source, path):
        holder = source.parent(value)
        if isinstance(holder, ast.withitem) and isinstance(holder.context_expr, ast.Call):
            call = holder.context_expr
            if source.resolve(call.func) == "builtins.open" and call.args:
                return call.args[0]
            if isinstance(call.func, ast.Attribute) and call.func.attr == "open":
                return call.func.value
    return None


def checkpoint_parts(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """A checkpoint whose keys are all known, and are not all that the contest asks for."""
    files = profile.files
    stem = files.checkpoint.rpartition(".")[0]
    for save in saves(source):
        texts = source.texts(save.path) if save.path is not None else ()
        if not any(text.startswith((stem, HOLE)) or HOLE in text for text in texts):
            continue
        fields = _fields(source, save.payload)
        if fields is None:
            continue
        missing = [part for part in files.checkpoint_parts if part not in fields]
        meta = _fields(source, fields[files.meta_part]) if files.meta_part in fields else None
        missing += [f"{files.meta_part}.{key}" for key in files.meta_keys if meta is not None and key not in meta]
        if missing:
            yield source.hit(save.call, PARTS=", ".join(missing))


def _bindings(source: Source, node: ast.AST) -> list[tuple[Way, ast.AST]]:
    if not isinstance(node, ast.Name):
        return []
    looked_up = source.scopes.scope(node).look_up(node.id)
    return [(binding.way, binding.node) for binding in looked_up[1]] if looked_up else []


def _fields(source: Source, node: ast.AST, depth: int = 0) -> dict[str, ast.expr] | None:
    """Key -> value of a dict whose keys are all known; {} for the state of a model; None: not known."""
    if depth > DEPTH:
        return None
    if isinstance(node, ast.Dict):
        found: dict[str, ast.expr] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            names = source.exact(key) if key is not None else None
            inner = _fields(source, value, depth + 1) if key is None else None
            if names is not None and len(names) == 1:
                found[names[0]] = value
            elif inner is not None:
                found.update(inner)
            else:
                return None
        return found
    if isinstance(node, ast.Call):
        if source.resolve(node.func) == "builtins.dict" and not node.args:
            return None if any(k.arg is None for k in node.keywords) else {str(k.arg): k.value for k in node.keywords}
        if isinstance(node.func, ast.Attribute) and node.func.attr == "state_dict":
            return {}
        own = source.calls.definition(node.func)
        if isinstance(own, Function):
            returned = [n.value for n in source.walk(own) if isinstance(n, ast.Return) and n.value is not None]
            return _fields(source, returned[0], depth + 1) if len(returned) == 1 else None
        return None
    bindings = _bindings(source, node)
    if len(bindings) != 1:
        return None
    way, bound = bindings[0]
    if way is Way.VALUE:
        made = _fields(source, bound, depth + 1)
        return None if made is None or not isinstance(node, ast.Name) else _with_stores(source, node, made)
    if way is Way.PARAMETER and isinstance(node, ast.Name):
        values, complete = source.calls.arguments(bound, node.id)  # type: ignore[arg-type]
        return _fields(source, values[0], depth + 1) if complete and len(values) == 1 else None
    return None


def _with_stores(source: Source, name: ast.Name, made: dict[str, ast.expr]) -> dict[str, ast.expr] | None:
    """A dict's fields with those that are stored or updated under its name; None where that cannot be told."""
    looked_up = source.scopes.scope(name).look_up(name.id)
    found = dict(made)
    for node in source.walk(looked_up[0].node) if looked_up else ():
        if not (isinstance(node, ast.Name) and node.id == name.id and isinstance(node.ctx, ast.Load)):
            continue
        parent = source.parent(node)
        if isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store):
            keys, statement = source.exact(parent.slice), source.parent(parent)
            if keys is None or not isinstance(statement, ast.Assign):
                return None
            found.update(dict.fromkeys(keys, statement.value))
        elif isinstance(parent, ast.Attribute) and parent.attr in ("update", "setdefault"):
            return None
    return found


def _values(source: Source, node: ast.expr, depth: int = 0) -> Iterator[ast.expr]:
    """What is saved: the payload itself, and everything that dicts and lists in it hold, as far as it is known."""
    fields = _fields(source, node)
    if fields is not None and depth <= DEPTH:
        for value in fields.values():
            yield from _values(source, value, depth + 1)
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        for element in node.elts:
            yield from _values(source, element, depth + 1)
    elif isinstance(node, ast.Dict):
        for value in node.values:
            yield from _values(source, value, depth + 1)
    else:
        yield node


def _object(source: Source, node: ast.AST, depth: int = 0) -> str | None:
    """What kind of object an expression is that is no plain value; None: it is one, or nobody can tell."""
    if depth > DEPTH:
        return None
    if isinstance(node, ast.Lambda):
        return "a function"
    if isinstance(node, ast.Call):
        return _made(source, node)
    if isinstance(node, ast.Attribute):
        if node.attr == "state_dict":
            return "a bound method: state_dict is not called"
        if node.attr in ("module", "_orig_mod"):
            return _object(source, node.value, depth + 1)
        if isinstance(node.value, ast.Name):
            around = source.scopes.class_around(source.scopes.scope(node), node.value.id)
            members = source.scopes.members.get((id(around), node.attr), []) if around is not None else []
            return next((what for value in members if (what := _object(source, value, depth + 1))), None)
        return None
    for way, value in _bindings(source, node) if isinstance(node, ast.Name) else ():
        kind: str | None = None
        if way is Way.VALUE:
            kind = _object(source, value, depth + 1)
        elif way is Way.DEFINITION:
            kind = "a class" if isinstance(value, ast.ClassDef) else "a function"
        elif way is Way.PARAMETER and isinstance(node, ast.Name):
            kind = _parameter(source, value, node.id, depth)
        if kind is not None:
            return kind
    if isinstance(node, ast.Name):
        around = source.scopes.class_around(source.scopes.scope(node), node.id)
        if around is not None:
            return f"an object of {around.name}"
    return None


def _parameter(source: Source, function: ast.AST, name: str, depth: int) -> str | None:
    """What kind of object a parameter is, by its annotation or by what the file's calls give for it."""
    for node in source.walk(function.args):  # type: ignore[attr-defined]
        if isinstance(node, ast.arg) and node.arg == name and node.annotation is not None:
            text = ast.unparse(node.annotation).strip("'\"")
            if isinstance(source.top_level.get(text), ast.ClassDef):
                return f"an object of {text}"
            if text in ("nn.Module", "torch.nn.Module", "Module"):
                return "a model"
    values, _ = source.calls.arguments(function, name)  # type: ignore[arg-type]
    return next((what for value in values if (what := _object(source, value, depth + 1))), None)


def _made(source: Source, call: ast.Call) -> str | None:
    """What kind of object a call makes."""
    if isinstance(call.func, ast.Name):
        looked_up = source.scopes.scope(call.func).look_up(call.func.id)
        definitions = [b.node for b in looked_up[1]] if looked_up else []
        if len(definitions) == 1 and isinstance(definitions[0], ast.ClassDef):
            return f"an object of {definitions[0].name}"
    full = source.resolve(call.func)
    if full is not None:
        if any(fnmatchcase(full, pattern) for pattern in PLAIN):
            return None
        return next((what for pattern, what in MAKERS.items() if fnmatchcase(full, pattern)), None)
    if isinstance(call.func, ast.Attribute):
        if call.func.attr == "parse_args":
            return "the parsed options"
        if call.func.attr in ("to", "cuda", "cpu", "eval", "train", "float", "bfloat16", "half", "requires_grad_"):
            return _object(source, call.func.value, 1)  # methods of a model that return the model
    return None

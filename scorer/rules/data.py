"""Checks of which data a file reads: splits, shards, and the kit's scoring."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.environment import reads
from scorer.rules.paths import below, opened, openings
from scorer.rules.reach import reach
from scorer.rules.scopes import scopes
from scorer.rules.source import Function, Hit, Source
from scorer.rules.texts import HOLE

# What lists the files of a directory.
LISTINGS = {
    *("os.listdir", "os.scandir", "os.walk", "os.fwalk", "glob.glob", "glob.iglob", "glob.glob0", "glob.glob1"),
    *("glob.translate", "fnmatch.filter", "pyarrow.dataset.dataset", "pyarrow.parquet.ParquetDataset"),
    *("pyarrow.fs.FileSelector", "pyarrow.dataset.FileSystemDataset"),
}
LISTING_METHODS = {"glob", "rglob", "iterdir"}
# Methods and expressions that put a string together.
BUILDING = {"join", "format", "replace", "lower", "decode"}
BUILT = (ast.BinOp, ast.JoinedStr, ast.Call, ast.Subscript, ast.IfExp)


def validation_data(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Strings, however they are put together, that name a validation split or a file of validation data."""
    splits = set(profile.review.validation_data)
    patterns = profile.review.validation_files
    done = _documentation(source)
    built = [node for kind in BUILT for node in source.every(kind) if _puts_together(source, node)]
    plain = [node for node in source.every(ast.Constant) if isinstance(node.value, (str, bytes))]
    for node in sorted((*built, *plain), key=source.scopes.place):
        if id(node) not in done and any(text in splits or _is_file(text, patterns) for text in source.texts(node)):
            done.update(map(id, source.walk(node)))
            if not _refused(source, node):
                yield source.hit(node)


def _documentation(source: Source) -> set[int]:
    """Strings that are statements: docstrings and comments."""
    return {id(node.value) for node in source.every(ast.Expr)}


def _puts_together(source: Source, node: ast.expr) -> bool:
    """Whether an expression may make a string of parts."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in BUILDING:
            return True
        return source.resolve(node.func) in ("base64.b64decode", "os.path.join", "pathlib.Path")
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, (ast.Add, ast.Mod, ast.Div))
    return not isinstance(node, ast.Subscript) or isinstance(node.slice, (ast.Slice, ast.Constant))


def _is_file(text: str, patterns: list[str]) -> bool:
    if len(text) > 300 or "\n" in text:
        return False
    name = posixpath.basename(text.replace(HOLE, "?"))
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _refused(source: Source, node: ast.AST) -> bool:
    """The string stands only in the condition of an `if` that does nothing but raise when a value equals it."""
    test = source.parent(node)
    if isinstance(test, (ast.Tuple, ast.List, ast.Set)):
        test = source.parent(test)
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Eq, ast.In))):
        return False
    around = source.parent(test)
    return (
        isinstance(around, ast.If)
        and around.test is test
        and len(around.body) == 1
        and isinstance(around.body[0], ast.Raise)
    )


def _kit_call(source: Source, node: ast.AST, profile: Profile) -> str | None:
    """The name of the kit's function that a call calls; None: it calls none."""
    module = profile.kit.file.removesuffix(".py")
    if not isinstance(node, ast.Call):
        return None
    full = source.resolve(node.func)
    return full.removeprefix(f"{module}.") if full is not None and full.startswith(f"{module}.") else None


def untold_splits(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Calls of the kit's data functions whose split is not, for certain, one of the training splits."""
    for node in source.every(ast.Call):
        name = _kit_call(source, node, profile)
        place = profile.review.split_argument.get(name) if name else None
        if place is None:
            continue
        split = next((keyword.value for keyword in node.keywords if keyword.arg == "split"), None)
        spread = any(isinstance(argument, ast.Starred) for argument in node.args[: place + 1])
        if split is None and len(node.args) > place and not spread:
            split = node.args[place]
        if split is None and not spread and all(keyword.arg for keyword in node.keywords):
            continue  # the kit's default
        known = source.exact(split) if split is not None else None
        stated = {*profile.review.training_data, *profile.review.validation_data}  # the latter are REV043's
        if known is None or not set(known) <= stated:
            yield source.hit(node, FUNCTION=str(name))


def shard_numbers(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Numbers of shards that no training shard has."""
    count = profile.review.training_shards
    for node in source.every(ast.keyword):
        if node.arg != profile.review.shard_argument:
            continue
        if _kit_call(source, source.parent(node) or node, profile) is None:
            continue
        for number in _numbers(source, node.value):
            if not 0 <= number < count:
                yield source.hit(node.value, SHARD=str(number), COUNT=str(count))
                break


def _numbers(source: Source, node: ast.AST) -> list[int]:
    """The numbers that a written-out list or a `range` holds; its last one is enough of a range."""
    if isinstance(node, ast.Call) and source.resolve(node.func) in ("builtins.list", "builtins.tuple", "builtins.set"):
        return _numbers(source, node.args[0]) if node.args else []
    if isinstance(node, ast.Call) and source.resolve(node.func) == "builtins.range":
        bounds = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
        whole = [bound for bound in bounds if isinstance(bound, int)]
        if len(whole) != len(node.args) or not whole:
            return []
        return [*range(*whole)][-1:]
    found = [_integer(element) for element in source.elements(node) or ()]
    return [number for number in found if number is not None]


def _integer(node: ast.AST) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _integer(node.operand)
        return None if inner is None else -inner
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None


def shard_search(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Lists of the files of a directory other than the output directory, and patterns for data files."""
    output = profile.files.output_directory
    seen = _documentation(source)
    for node in source.every(ast.Call, ast.Constant):
        if isinstance(node, ast.Call) and id(node) not in seen:
            full = source.resolve(node.func)
            base: ast.expr | None = None
            if full in LISTINGS:
                base = node.args[0] if node.args else None
            elif isinstance(node.func, ast.Attribute) and node.func.attr in LISTING_METHODS and full is None:
                base = node.func.value
                if node.func.attr != "iterdir" and not node.args:
                    continue
            else:
                continue
            texts = source.texts(base)
            if not all(below(text, output) for text in texts) and not _names_validation(source, node, profile):
                seen.update(id(inner) for inner in source.walk(node))
                yield source.hit(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in seen:
            pattern = "*" in node.value and node.value.endswith(tuple(profile.review.data_endings))
            if pattern and not _names_validation(source, node, profile):
                yield source.hit(node)


def _names_validation(source: Source, node: ast.AST, profile: Profile) -> bool:
    """Whether a search names files of validation data: that is REV043's, which says more."""
    strings = source.inside(node, ast.Constant)
    return any(isinstance(n.value, str) and _is_file(n.value, profile.review.validation_files) for n in strings)


def scoring_functions(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Uses of the kit's scoring functions, called or handed on."""
    module = profile.kit.file.removesuffix(".py")
    functions = profile.kit.functions
    names = {f"{module}.{functions.evaluate}", f"{module}.{functions.causality}"}
    for full, nodes in source.named.items():
        if full in names:
            for node in nodes:
                parent = source.parent(node)
                aliased = isinstance(parent, (ast.Assign, ast.NamedExpr)) and parent.value is node
                if not aliased:
                    yield source.hit(parent if isinstance(parent, ast.Call) and parent.func is node else node)


def foreign_data(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Loads of pre-trained models and data sets, and of files that are neither the run's own nor the submission's."""
    for node in source.every(ast.Call):
        full = source.resolve(node.func) or ""
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        weights = any(
            keyword.arg in ("pretrained", "weights") and _is_wanted(keyword.value) for keyword in node.keywords
        ) and full.startswith(("torchvision.", "timm.", "torchaudio.", "torch.hub"))
        if full.startswith(PRETRAINED) or method in PRETRAINED_METHODS or weights:
            yield source.hit(node)
    for _, given in source.standing_for("builtins.input", "sys.stdin", "sys.__stdin__"):
        yield source.hit(source.parent(given) or given)
    for opening, paths in openings(source):
        if any(not writes and any(is_foreign(t, profile) for t in source.texts(path)) for path, writes in paths):
            yield source.hit(opening)

    yield from _untold_settings(source, artifact, profile)
    yield from _beside_the_checkpoint(source, artifact, profile)


def _untold_settings(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Settings that are read from a file that cannot be told: knobs. REV010 judges the variables that name it."""
    opened_by = {id(call): paths for call, paths in openings(source)}
    variables = {id(read.node) for read in reads(source)}
    for call in source.every(ast.Call):
        given = call.args[:1] if (source.resolve(call.func) or "") in PARSERS else []
        if id(call) in opened_by and isinstance(call.func, ast.Attribute) and call.func.attr == "read":
            given = [call]
        paths = [path for one in given for path in _opened(source, one, opened_by)]
        for path in paths:
            untold = any(text.startswith(HOLE) for text in source.texts(path))
            if untold and not any(id(node) in variables for node in _behind(source, path)):
                yield source.hit(call)
                break


def _opened(source: Source, node: ast.AST, opened_by: dict[int, Any], depth: int = 0) -> list[ast.expr]:
    """The paths of the file that an expression is, or is read from."""
    if id(node) in opened_by:
        return [path for path, writes in opened_by[id(node)] if not writes]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _opened(source, node.func.value, opened_by, depth)  # file.read(), text.splitlines()
    if not isinstance(node, ast.Name) or depth > DEPTH:
        return []
    bound = scopes(source).of(node.id, node)
    return [path for b in bound if b.value is not None for path in _opened(source, b.value, opened_by, depth + 1)]


def _behind(source: Source, node: ast.AST, depth: int = 0) -> Iterator[ast.AST]:
    """Every expression that a value is made of, through variables."""
    for inner in source.walk(node):
        yield inner
        if isinstance(inner, ast.Name) and depth < DEPTH:
            for binding in scopes(source).of(inner.id, inner):
                if binding.value is not None and not isinstance(binding.value, Function | ast.ClassDef):
                    yield from _behind(source, binding.value, depth + 1)


def _beside_the_checkpoint(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Files that a hook reads and was not given: a second checkpoint, whose path is made of the first one's or not."""
    seen: set[int] = set()
    for hook in profile.hooks:
        function = source.top_level.get(hook.name)
        if not isinstance(function, Function):
            continue
        inside = {
            id(n) for body in (function, *reach(source).called_from(function)) for n in source.inside(body, ast.Call)
        }
        for call, paths in openings(source):
            if id(call) not in inside or id(call) in seen:
                continue
            for path, writes in paths:
                known = source.exact(path)
                judged = known is not None and not all(below(t, profile.files.output_directory) for t in known)
                if not writes and not judged and not _is_given(source, path, function):
                    seen.add(id(call))
                    yield source.hit(call)
                    break


def _is_given(source: Source, node: ast.AST, hook: Function, depth: int = 0) -> bool:
    """Whether a path is one of a hook's own parameters, as it is."""
    if isinstance(node, ast.Call) and (node.args or isinstance(node.func, ast.Attribute)):
        if (source.resolve(node.func) or "") in SAME_PATH and len(node.args) == 1:
            return _is_given(source, node.args[0], hook, depth)
        if isinstance(node.func, ast.Attribute) and node.func.attr in SAME_METHODS and not node.args:
            return _is_given(source, node.func.value, hook, depth)
        return id(node) in {id(call) for call, _ in openings(source)} and all(
            _is_given(source, path, hook, depth) for path, _ in opened(source, node)
        )
    if not isinstance(node, ast.Name) or depth > DEPTH:
        return False
    bound = scopes(source).of(node.id, node)
    for binding in bound:
        if binding.parameter:
            owner = next((f for f in source.functions if binding.node in source.inside(f.args, ast.arg)), None)
            if owner is hook:
                continue
            given = [*scopes(source).arguments(owner, node.id)] if owner is not None else []
            if not given or not all(_is_given(source, value, hook, depth + 1) for value in given):
                return False
        elif binding.value is None or not binding.whole or not _is_given(source, binding.value, hook, depth + 1):
            return False
    return bool(bound)


PRETRAINED = (
    *(
        "torch.hub.",
        "huggingface_hub.",
        "torch.utils.model_zoo.",
        "datasets.",
        "gdown.",
        "wget.",
        "torchvision.datasets.",
    ),
    *("torchtext.", "tiktoken.", "sentence_transformers.", "open_clip.", "kagglehub.", "torchaudio.pipelines."),
)
PARSERS = {
    *("json.load", "json.loads", "tomllib.load", "tomllib.loads", "plistlib.load", "plistlib.loads", "csv.reader"),
    *("csv.DictReader", "yaml.safe_load", "yaml.load", "yaml.safe_load_all", "ast.literal_eval", "toml.load"),
    *("builtins.int", "builtins.float", "builtins.complex"),
}
SAME_PATH = {"pathlib.Path", "builtins.str", "os.fspath", "os.path.abspath", "os.path.realpath", "os.path.expanduser"}
SAME_METHODS = {"resolve", "absolute", "as_posix", "expanduser"}
DEPTH = 4  # names that are followed
PRETRAINED_METHODS = {"from_pretrained", "load_state_dict_from_url", "hf_hub_download", "snapshot_download"}


def _is_wanted(node: ast.AST) -> bool:
    return not (isinstance(node, ast.Constant) and node.value in (None, False))


def is_foreign(text: str, profile: Profile) -> bool:
    """Whether a path, as far as it is known, is neither below the output directory nor a file of the submission."""
    if not text or text[0] == HOLE or text.startswith(("/dev/", "/proc/", "/sys/")):
        return False  # not known, or no data: those of /proc have rules of their own
    name = posixpath.normpath(text)
    return not below(text, profile.files.output_directory) and not profile.files.allows(name)

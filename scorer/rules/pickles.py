"""Checks of pickles: loading them runs code and needs the classes of the program that wrote them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.source import Hit, Source

LOADS = (
    *(
        "pickle.load*",
        "pickle._load*",
        "pickle.*Unpickler*",
        "pickle.[?]",
        "cloudpickle.load*",
        "dill.load*",
        "joblib.load*",
    ),
    *(
        "marshal.load*",
        "shelve.*",
        "copyreg.*",
        "pandas.read_pickle",
        "pandas.*.read_pickle",
        "torch.package.*",
        "jsonpickle.*",
    ),
    *("yaml.unsafe_load*", "yaml.full_load*", "yaml.UnsafeLoader", "yaml.FullLoader", "yaml.Loader", "torch.jit.load"),
    *("torch.serialization.add_safe_globals", "torch.serialization.safe_globals", "torch.storage._load_from_bytes"),
    *(
        "torch.serialization._legacy_load",
        "torch.serialization._load",
        "numpy.core.multiarray._reconstruct",
        "pickletools.*",
    ),
    *("multiprocessing.reduction.*", "multiprocessing.connection.*"),
)
TORCH_LOADS = {"torch.load", "torch.serialization.load"}
NUMPY_LOADS = {"numpy.load", "numpy.lib.npyio.NpzFile", "numpy.lib.format.read_array"}
YAML_LOADS = {"yaml.load", "yaml.load_all"}
SAFE_YAML = {"yaml.SafeLoader", "yaml.CSafeLoader", "yaml.BaseLoader"}
SAFE_SINCE = (2, 6)  # from this version of torch on `weights_only` is True where it is not given


def unpickling(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Functions that load pickles, and loaders that are told to, or not told not to."""
    for _, node in source.standing_for(*LOADS):
        parent = source.parent(node)
        if not (isinstance(parent, ast.Attribute) or _is_other_name(parent, node)):
            yield source.hit(parent if isinstance(parent, ast.Call) and parent.func is node else node)
    for full, node in source.standing_for(*sorted(TORCH_LOADS | NUMPY_LOADS | YAML_LOADS)):
        call = source.parent(node)
        if isinstance(call, ast.Call) and call.func is node and _may_unpickle(source, full, call, profile):
            yield source.hit(call)


def _is_other_name(parent: ast.AST | None, node: ast.AST) -> bool:
    return isinstance(parent, (ast.Assign, ast.NamedExpr)) and parent.value is node


def _may_unpickle(source: Source, full: str, call: ast.Call, profile: Profile) -> bool:
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if full in TORCH_LOADS:
        if "pickle_module" in keywords or (None in keywords and "weights_only" not in keywords):
            return True
        if "weights_only" in keywords:
            return not _is(keywords["weights_only"], True)
        return not _safe_by_default(profile)
    if full in NUMPY_LOADS:
        told = call.args[2] if len(call.args) > 2 else keywords.get("allow_pickle")
        return told is not None and not _is(told, False)
    if full in YAML_LOADS:
        loader = keywords.get("Loader") or (call.args[1] if len(call.args) > 1 else None)
        return loader is None or source.resolve(loader) not in SAFE_YAML
    return False


def _is(node: ast.AST, value: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _safe_by_default(profile: Profile) -> bool:
    """Whether the machine's torch reads weights only where it is not told. No version is a new one."""
    version = profile.machine.versions.get("torch")
    if version is None:
        return True
    parts = version.split(".")[:2]
    return tuple(int(part) for part in parts if part.isdigit()) >= SAFE_SINCE

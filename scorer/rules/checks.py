"""Checks of the whole file against the profile: size, hooks, imports, launch string, manifest, docstring."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.source import Function, Hit, Source
from scorer.rules.tree import Way

# Modules that left the standard library, by the version that lacks them first.
REMOVED = {
    (3, 12): {"asynchat", "asyncore", "distutils", "imp", "smtpd"},
    (3, 13): {
        *("aifc", "audioop", "cgi", "cgitb", "chunk", "crypt", "imghdr", "lib2to3", "mailcap", "msilib", "nis"),
        *("nntplib", "ossaudiodev", "pipes", "sndhdr", "spwd", "sunau", "telnetlib", "uu", "xdrlib"),
    },
}

OTHER_RESULTS = {"torch.Tensor", "torch.nn.Module"}  # a model of the file's own class may well be what is asked for


def size(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """The file must be smaller than the limit."""
    found, limit = len(artifact.train_py.read_bytes()), profile.files.size_limit_bytes
    if found >= limit:
        yield Hit(1, {"SIZE": f"{found:,}", "LIMIT": f"{limit:,}"})


def missing_files(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """The files that the contest requires must be there."""
    if artifact.member is None:
        given = {profile.launch.script, *(other.member for other in artifact.others)}
        for file in profile.files.submission:
            if file.required and file.name not in given:
                yield Hit(1, {"FILE": file.name})


def changed_file(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """The script must be the bytes that the manifest names."""
    stated = artifact.manifest.get("artifact_sha256") if artifact.manifest else artifact.sha256
    if stated != artifact.sha256:
        yield Hit(1, {"FOUND": artifact.sha256[:16], "STATED": str(stated)[:16]})


def changed_launch(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """launch-command.txt must be the string that the manifest names."""
    stated = artifact.manifest.get("launch_command") if artifact.manifest else artifact.launch_command
    if stated != artifact.launch_command:
        yield Hit(1, {"FOUND": artifact.launch_command, "STATED": str(stated)})


def hooks(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Every hook must be a function of the module, callable with the profile's parameters, by position and by name."""
    for hook in profile.hooks_of(artifact.member or profile.launch.script):
        wanted = f"{hook.name}({', '.join(hook.parameters)})"
        function = _offered(source, artifact, hook.name)
        if isinstance(function, str):
            yield Hit(_line_of(source, hook.name), {"HOOK": wanted, "FOUND": function})
            continue
        if function is None:
            continue  # of another file of the submission, or made by a call
        kind = _kind(source, function)
        if kind != "def" or not _takes(function.args, hook.parameters):
            yield Hit(function.lineno, {"HOOK": wanted, "FOUND": f"{kind} {hook.name}({ast.unparse(function.args)})"})
            continue
        if isinstance(function, ast.Lambda):
            continue
        stated = _annotation(source, function)
        if hook.returns is not None and stated != hook.returns and (stated in OTHER_RESULTS or _is_builtin(stated)):
            returned = ast.unparse(function.returns) if function.returns else ""
            yield Hit(function.lineno, {"HOOK": f"{wanted} -> {hook.returns}", "FOUND": f"a result of {returned}"})


def _offered(source: Source, artifact: Artifact, name: str) -> Function | ast.Lambda | str | None:
    """What an import of the file finds under a name: a function, None for something else to call, or what is wrong."""
    bindings = source.scopes.module.bindings.get(name, [])
    if not bindings:
        return "no such function at the top level"
    last = bindings[-1]
    statement: ast.AST | None = last.node
    while statement is not None and not isinstance(source.parent(statement), ast.Module):
        statement = source.parent(statement)
        if isinstance(statement, (ast.If, ast.Try, ast.With, ast.For, ast.While, ast.Match)):
            return f"a definition under a condition, at line {getattr(last.node, 'lineno', 1)}"
    if last.way is Way.IMPORT:
        own = last.text.partition(".")[0] in artifact.modules
        return None if own else f"an import of {last.text}"
    value = last.node
    if last.way is Way.VALUE and isinstance(value, ast.Name) and value.id != name:
        return _offered(source, artifact, value.id)
    if isinstance(value, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        return value
    made = last.way is Way.VALUE and isinstance(value, (ast.Call, ast.Attribute))
    return None if made else "something that is no function"


def _line_of(source: Source, name: str) -> int:
    bindings = source.scopes.module.bindings.get(name, [])
    return getattr(bindings[-1].node, "lineno", 1) if bindings else 1


def _kind(source: Source, function: Function | ast.Lambda) -> str:
    """How a function is defined, where that makes a difference to who calls it."""
    if isinstance(function, ast.AsyncFunctionDef):
        return "async def"
    if any(source.scopes.scope(n).node is function for n in source.inside(function, ast.Yield, ast.YieldFrom)):
        return "the generator"
    return "def"


def _takes(arguments: ast.arguments, parameters: list[str]) -> bool:
    """Whether a function can be called with these parameters, by position and by name, and with nothing else."""
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    required = len(names) - len(arguments.defaults)
    demanded = [a for a, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default is None]
    fits = names[: len(parameters)] == parameters and required <= len(parameters)
    return fits and not demanded and not arguments.posonlyargs


def _annotation(source: Source, function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The full name of the class that a function says it returns; empty where it says none."""
    stated = function.returns
    if isinstance(stated, ast.Constant):
        return "builtins.None" if stated.value is None else ""
    if isinstance(stated, ast.Subscript):
        stated = stated.value
    return (source.resolve(stated) or "") if stated is not None else ""


def _is_builtin(name: str) -> bool:
    return name.startswith("builtins.")


def imports(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Every import, wherever it stands, must name the standard library or a package of the scoring machine."""
    version = tuple(int(part) for part in profile.machine.python.split("."))
    gone = {name for since, names in REMOVED.items() if version >= since for name in names}
    known = ((set(sys.stdlib_module_names) | set().union(*REMOVED.values())) - gone) | {
        *profile.machine.packages,
        *artifact.modules,
    }
    for node in source.every(ast.Import, ast.ImportFrom):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield Hit(
                node.lineno,
                {"MODULE": "." * node.level + (node.module or ""), "REASON": "there is no package around it"},
            )
            continue
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        else:
            continue
        for module in modules:
            top = module.partition(".")[0]
            if top not in known:
                reason = (
                    f"Python {profile.machine.python} has no such module"
                    if top in gone
                    else "the scoring machine lacks it"
                )
                yield Hit(node.lineno, {"MODULE": module, "REASON": reason})


def launch_flags(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Every flag of the launch string must be read by the file."""
    words = artifact.launch_command.split()
    script = words.index(profile.launch.script) if profile.launch.script in words else len(words)
    strings = {node.value for node in source.every(ast.Constant) if isinstance(node.value, str)}
    reads = any(
        full == "argparse" or full.startswith(("argparse.", "sys.argv", "click", "typer")) for full in source.imported
    )
    reads = reads or any(source.resolve(node) == "sys.argv" for node in source.every(ast.Attribute))
    for word in words[script + 1 :]:
        name = word.partition("=")[0]
        if not reads or (name.startswith("-") and name not in strings):
            yield Hit(1, {"FLAG": name})


def partial_chip(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """The launch string must be one of the combinations that use the whole chip, where the contest names any."""
    if artifact.launch_command and not profile.launch.fills_chip(artifact.launch_command):
        yield Hit(1, {"LAUNCH": artifact.launch_command, "COMBINATIONS": " or ".join(profile.launch.full_chip)})


def docstring(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """The file's docstring should state what a reviewer looks for."""
    if artifact.member is not None:
        return  # it is the script's
    text = (ast.get_docstring(source.tree) or "").lower()
    facts = profile.review.docstring_facts
    missing = [fact for fact, words in facts.items() if not any(word.lower() in text for word in words)]
    if missing:
        yield Hit(1, {"FACTS": ", ".join(missing)})


def unused_imports(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Imported names that nothing reads; an import for its side effect says so with `noqa`."""
    used = {node.id for node in source.every(ast.Name)}
    for node in source.every(ast.arg, ast.AnnAssign, ast.FunctionDef, ast.AsyncFunctionDef):
        annotation = node.annotation if isinstance(node, ast.arg | ast.AnnAssign) else node.returns
        if annotation is not None:
            used |= _quoted_names(annotation)
    for node in source.every(ast.Import, ast.ImportFrom):
        if "noqa" in source.lines[node.lineno - 1]:
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            continue
        for alias in node.names:
            name = (alias.asname or alias.name).partition(".")[0]
            if isinstance(node, ast.Import) and alias.name.partition(".")[0] == profile.machine.device_module:
                continue  # importing it is what makes the device exist
            if name not in used and name != "*":
                yield Hit(node.lineno, {"NAME": name})


def _quoted_names(annotation: ast.expr) -> set[str]:
    """Names in the quoted parts of an annotation; what is not Python (`Annotated[int, "a size"]`) names nothing."""
    names: set[str] = set()
    for part in ast.walk(annotation):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            try:
                quoted = ast.parse(part.value, mode="eval")
            except SyntaxError:
                continue
            names |= {node.id for node in ast.walk(quoted) if isinstance(node, ast.Name)}
    return names


def postponed_dataclass(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """A dataclass whose annotations are strings looks its module up in sys.modules, where a scorer need not put it."""
    postponed = any(
        isinstance(s, ast.ImportFrom) and s.module == "__future__" and any(a.name == "annotations" for a in s.names)
        for s in source.tree.body
    )
    for node in source.every(ast.ClassDef):
        decorators = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
        if not any(source.resolve(decorator) == "dataclasses.dataclass" for decorator in decorators):
            continue
        for field in node.body:
            quoted = isinstance(field, ast.AnnAssign) and isinstance(field.annotation, ast.Constant)
            if isinstance(field, ast.AnnAssign) and (postponed or quoted):
                yield Hit(node.lineno, {"CLASS": node.name})
                break

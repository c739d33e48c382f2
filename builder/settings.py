"""Build settings (`build.yaml`) and knob files: strict YAML, in which every value keeps its line."""

from __future__ import annotations

import ast
import fnmatch
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from builder import nesting, trees
from builder.errors import BuildError, Problem, refuse
from builder.versions import STANDARD
from scorer.contest import Hook, Profile, ProfileError, load


@dataclass(frozen=True)
class Entry:
    """A value of a YAML file, the line of its key, and for a mapping the lines of its own keys."""

    value: Any
    line: int
    lines: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Settings:
    """What to build. `root` is the directory that holds the recipe's package (or, for a script, the script)."""

    path: Path | None  # of the settings file; None: entry and launch string are all there is
    name: str  # of the settings file, in messages and the manifest
    root: Path
    entry: str  # module name
    hooks: tuple[str, ...]
    config: tuple[str, str] | None  # module, class
    loader: tuple[str, str] | None  # module, function
    profile: Profile
    launch: str
    kernels: dict[str, Entry]
    passes: tuple[str, Entry] | None  # the knob that says how many backward passes an update has; the fewest, a formula
    constants: dict[str, tuple[str, str]]  # knob -> module and name of a module constant
    lines: dict[str, int]

    def refuse(self, key: str, message: str, remedy: str, code: str = "BLD002") -> BuildError:
        """A build error at a key of the settings file."""
        return refuse(code, self.name, self.lines.get(key, 1), message, remedy)

    def is_owned(self, variable: str) -> bool:
        """Whether an environment variable belongs to the launcher or the harness: it is no knob, and may be read."""
        policy = self.profile.environment
        owned = (*policy.launcher_owned, *policy.harness_owned)
        return any(fnmatch.fnmatchcase(variable, pattern) for pattern in owned)

    def display(self, path: Path) -> str:
        """A path as messages and manifest show it: relative to the root, else its name alone."""
        return display(path, self.root)


RELATIVE = re.compile(rb"\bfrom[\s\\]*\.")
KEYS = ("entry", "hooks", "config", "config_loader", "constants", "contest", "launch", "kernels", "backward_passes")


def display(path: Path, root: Path) -> str:
    """A path relative to `root` in posix form; outside of it the name alone, so that no output names a machine's
    directories.
    """
    absolute, base = path.resolve(), root.resolve()
    return absolute.relative_to(base).as_posix() if absolute.is_relative_to(base) else path.name


def read_mapping(path: Path, name: str, code: str) -> dict[str, Entry]:
    """Read a YAML mapping. Errors: unreadable, not a mapping, a key given twice (with both lines)."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise refuse(code, name, 0, f"cannot be read: {reason}", "name an existing YAML file in UTF-8") from error
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        return _mapping(loader, node, name, code)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise refuse(code, name, line, f"not YAML: {error.problem}", "correct this line") from error
    finally:
        loader.dispose()


def _mapping(loader: yaml.SafeLoader, node: yaml.Node | None, name: str, code: str) -> dict[str, Entry]:
    if node is None:
        return {}
    if not isinstance(node, yaml.MappingNode):
        line = node.start_mark.line + 1
        raise refuse(code, name, line, "expected lines of `name: value`", "write a YAML mapping")
    problems: list[Problem] = []
    _find_doubles(node, name, problems)
    if problems:
        raise BuildError(problems)
    entries = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(loader.construct_object(key), str):
            raise refuse(code, name, line, f"the key {key.value!r} is not a string", "quote the key")
        inner = value.value if isinstance(value, yaml.MappingNode) else []
        lines = {str(name.value): name.start_mark.line + 1 for name, _ in inner}
        entries[str(key.value)] = Entry(loader.construct_object(value, deep=True), line, lines)
    return entries


def _find_doubles(node: yaml.Node, name: str, problems: list[Problem]) -> None:
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    message = f"`{key.value}` was already given in line {seen[key.value]}"
                    problems.append(Problem(name, line, "BLD007", message, "keep one of the two lines"))
                seen[key.value] = line
            _find_doubles(value, name, problems)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _find_doubles(item, name, problems)


def read_settings(path: Path, contest_name: str | None = None) -> Settings:
    """Read build settings: where the entry is, what it must offer, how it is launched.

    `contest_name` names another contest than the settings do: a profile, or the path of one.
    """
    name = path.name
    entries = read_mapping(path, name, "BLD002")
    for key, entry in entries.items():
        if key not in KEYS:
            raise refuse("BLD002", name, entry.line, f"unknown setting `{key}`", f"the settings are: {', '.join(KEYS)}")
    for key in ("entry", "contest", "launch"):
        if key not in entries:
            raise refuse("BLD002", name, 1, f"setting `{key}` is missing", f"add a line `{key}: ...`")
    file = _find_entry(path, name, entries["entry"])
    root, module = _root(file)
    name = display(path, root)
    kernels = entries.get("kernels", Entry({}, 1))
    if not isinstance(kernels.value, dict):
        raise refuse(
            "BLD002", name, kernels.line, "`kernels` must map kernel names to formulas", "write `name: formula` lines"
        )
    profile = _profile(path, name, entries["contest"]) if contest_name is None else load(contest_name)
    return Settings(
        path=path,
        name=name,
        root=root,
        entry=module,
        hooks=_hooks(entries, profile, name),
        config=_reference(entries, "config", name),
        loader=_reference(entries, "config_loader", name),
        profile=profile,
        launch=_text(entries["launch"], "launch", name),
        kernels={
            str(key): Entry(value, kernels.lines.get(str(key), kernels.line)) for key, value in kernels.value.items()
        },
        passes=_passes(entries, name),
        constants=_constants(entries, name),
        lines={key: entry.line for key, entry in entries.items()},
    )


def own_hooks(profile: Profile) -> list[Hook]:
    """The contest's hooks that the built file must define; other files of a submission have hooks of their own."""
    return [hook for hook in profile.hooks if hook.file == profile.launch.script]


def settings_of(entry: Path, contest_name: str) -> Settings:
    """Settings for an entry alone: the hooks are the contest's, the launch string is given beside."""
    if not entry.is_file():
        raise refuse("BLD002", entry.as_posix(), 0, "the entry is not there", "name an existing file by --entry")
    profile = load(contest_name)
    root, module = _root(entry.resolve(), profile.machine.packages)
    return Settings(
        path=None,
        name="--entry",
        root=root,
        entry=module,
        hooks=tuple(hook.name for hook in own_hooks(profile)),
        config=None,
        loader=None,
        profile=profile,
        launch="",
        kernels={},
        passes=None,
        constants={},
        lines={},
    )


def _passes(entries: dict[str, Entry], name: str) -> tuple[str, Entry] | None:
    """`backward_passes: {knob: formula}`."""
    entry = entries.get("backward_passes")
    if entry is None:
        return None
    if not isinstance(entry.value, dict) or len(entry.value) != 1:
        remedy = "write `{knob: the fewest that an update has}`"
        raise refuse("BLD002", name, entry.line, "`backward_passes` must map one knob to a formula", remedy)
    ((knob, formula),) = entry.value.items()
    return str(knob), Entry(formula, entry.lines.get(str(knob), entry.line))


def _constants(entries: dict[str, Entry], name: str) -> dict[str, tuple[str, str]]:
    """`constants: [package.module:NAME]`, by the name that knobs are given under: NAME, or all of it if that is not
    unique.
    """
    entry = entries.get("constants", Entry([], 1))
    if not isinstance(entry.value, list):
        message = "`constants` must be a list of module constants"
        raise refuse("BLD002", name, entry.line, message, "write `constants: [package.module:NAME]`")
    found = [_split(text, "constants", name, entry.line) for text in entry.value]
    names = [attribute for _, attribute in found]
    return {
        attribute if names.count(attribute) == 1 else f"{module}:{attribute}": (module, attribute)
        for module, attribute in found
    }


def _profile(path: Path, name: str, contest: Entry) -> Profile:
    beside = path.parent / str(contest.value)
    try:
        return load(beside if beside.suffix and beside.is_file() else str(contest.value))
    except ProfileError as error:
        raise refuse("BLD002", name, contest.line, str(error), "name a contest profile of this version") from error


def _text(entry: Entry, key: str, name: str) -> str:
    if not isinstance(entry.value, str):
        raise refuse("BLD002", name, entry.line, f"`{key}` must be a string, found {entry.value!r}", "quote the value")
    return entry.value


def _hooks(entries: dict[str, Entry], profile: Profile, name: str) -> tuple[str, ...]:
    entry = entries.get("hooks", Entry([hook.name for hook in own_hooks(profile)], 1))
    if not isinstance(entry.value, list) or not entry.value or not all(isinstance(hook, str) for hook in entry.value):
        raise refuse(
            "BLD002",
            name,
            entry.line,
            "`hooks` must be a list of function names",
            "write `hooks: [main, load_for_eval]`",
        )
    return tuple(entry.value)


def _reference(entries: dict[str, Entry], key: str, name: str) -> tuple[str, str] | None:
    return _split(entries[key].value, key, name, entries[key].line) if key in entries else None


def _split(text: object, key: str, name: str, line: int) -> tuple[str, str]:
    module, colon, attribute = text.partition(":") if isinstance(text, str) else ("", "", "")
    if not colon or not attribute.isidentifier():
        message = f"`{key}` must be `package.module:name`, found {text!r}"
        raise refuse("BLD002", name, line, message, "write it in that form")
    return module, attribute


def _find_entry(path: Path, name: str, entry: Entry) -> Path:
    text = _text(entry, "entry", name)
    for directory in path.resolve().parents:
        if (directory / text).is_file():
            return directory / text
    message = f"entry {text!r} is in no directory above the settings file"
    raise refuse("BLD002", name, entry.line, message, "write its path from the directory that holds the package")


def _root(file: Path, packages: Collection[str] = ()) -> tuple[Path, str]:
    """The directory that holds the top package of a file, and the file's module name under it. `packages` are installed
    where it runs.
    """
    root, parts = file.parent, [file.stem]
    while (root / "__init__.py").is_file() or (len(parts) == 1 and _is_in_namespace(file, packages)):
        parts.insert(0, root.name)
        root = root.parent
    return root, ".".join(parts)


def _is_in_namespace(file: Path, packages: Collection[str]) -> bool:
    """Whether an entry belongs to a package without __init__.py: it imports relatively, or from its own directory by
    that one's name, which is no module beside it and none that is installed (those go before such a package).
    """
    own = file.parent.name
    beside = (file.parent / own).is_dir() or (file.parent / f"{own}.py").is_file()
    if beside or own in STANDARD or own in packages:
        own = ""
    try:
        data = file.read_bytes()
        if not RELATIVE.search(data) and not (own and own.encode() in data):
            return False
        tree = nesting.parse(data)
    except (OSError, SyntaxError, ValueError, nesting.TooDeepError):
        return False  # told when it is read
    for node in trees.nodes(tree):
        match node:
            case ast.ImportFrom(level=level, module=module) if level or (own and (module or "").split(".")[0] == own):
                return True
            case ast.Import(names=names) if any(alias.name.split(".")[0] == own for alias in names):
                return True
    return False

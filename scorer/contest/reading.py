"""From a YAML file to a profile, or to every mistake in it: line, field, what was expected and found, a remedy."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from scorer.contest.consistency import Place, contradictions
from scorer.contest.schema import Profile

CONTESTS = Path(__file__).parents[1] / "contests"
LONGEST_VALUE = 60
MOST_NAMED = 8  # fields of a section that a message lists
DEEPEST = 50  # no profile nests by more than a tenth of it
BOOL = "tag:yaml.org,2002:bool"
MERGE = "tag:yaml.org,2002:merge"
# What pydantic calls a kind of mistake -> what it expected, and what to do.
KINDS = {
    "int_type": ("a whole number", "write it without quotes and without a fraction"),
    "int_from_float": ("a whole number", "write it without a fraction"),
    "float_type": ("a number", "write it without quotes"),
    "finite_number": ("a finite number", "write the number itself"),
    "string_type": ("text", "put it in quotes"),
    "bool_type": ("true or false", "write one of the two, without quotes"),
    "list_type": ("a list", "write [first, second], or one `- item` on each line"),
    "dict_type": ("a mapping", "write `key: value` on lines of their own"),
    "model_type": ("a mapping", "write `key: value` on lines of their own"),
    "model_attributes_type": ("a mapping", "write `key: value` on lines of their own"),
    "invalid_key": ("text for a key", "put the key in quotes"),
    "literal_error": ("{expected}", "write one of them"),
    "greater_than": ("more than {gt:g}", "correct the number"),
    "greater_than_equal": ("{ge:g} or more", "correct the number"),
    "less_than_equal": ("{le:g} or less", "correct the number"),
    "string_too_short": ("text that is not empty", "fill it in, or remove the entry"),
    "string_pattern_mismatch": ("text of the form {pattern}", "correct the spelling"),
    "too_short": ("{min_length} entries or more", "add what is missing"),
    "too_long": ("{max_length} entries at most", "remove the others"),
    "profile": ("{expected}", "{remedy}"),
}


class ProfileError(ValueError):
    """A profile that cannot be used; the message lists every problem as `file:line: field: what is wrong`."""


def names() -> list[str]:
    """The profiles that ship with this project."""
    return sorted(path.stem for path in CONTESTS.glob("*.yaml"))


def load(name_or_path: str | Path, codes: Collection[str] | None = None) -> Profile:
    """Load a profile by name (`scorer/contests/NAME.yaml`) or by path; raises ProfileError.

    `codes` are the finding codes that `rules` may name; without them any code of the right form is taken.
    """
    path = Path(name_or_path)
    if not path.suffix:
        path = CONTESTS / f"{name_or_path}.yaml"
    if not path.is_file():
        known = ", ".join(names())
        raise ProfileError(f"{path}: no such contest profile; known ones: {known}; or give a path that ends in .yaml")
    root, document = _parse(path)
    try:
        profile = Profile.model_validate(document)
    except ValidationError as error:
        raise _error(path, [_describe(root, problem) for problem in error.errors()]) from error
    problems = [
        (_line(root, place), f"{_dotted(place)}: expected {expected}, found {found!r}; {remedy}")
        for place, expected, found, remedy in contradictions(profile)
    ]
    for field in profile.confidence:
        if _node_at(root, tuple(field.split(".")))[1]:
            message = f"confidence: expected the dotted name of a field of this profile, found {field!r}; correct it"
            problems.append((_line(root, ("confidence", field)), message))
    for code in profile.rules if codes is not None else ():
        if codes is not None and code not in codes:
            message = f"rules.{code}: expected the code of a finding, found {code!r}; correct or remove it"
            problems.append((_line(root, ("rules", code)), message))
    if problems:
        raise _error(path, problems)
    return profile


def _error(path: Path, problems: list[tuple[int, str]]) -> ProfileError:
    return ProfileError("\n".join(f"{path}:{line}: {message}" for line, message in dict.fromkeys(sorted(problems))))


class _Loader(yaml.SafeLoader):
    """Plain YAML: no aliases, which would hide where a value is written; `off` and `no` are words, as in YAML 1.2."""

    yaml_implicit_resolvers = {  # noqa: RUF012  (PyYAML's own form)
        letter: [(tag, pattern) for tag, pattern in resolvers if tag != BOOL or letter in "tTfF"]
        for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "an alias; write the value itself in each place", mark)
        return super().compose_node(parent, index)


def _parse(path: Path) -> tuple[yaml.Node, Any]:
    """The document's nodes, which know their lines, and its value."""
    data = path.read_bytes()
    try:
        loader = _Loader(data.decode("utf-8"))
        root = loader.get_single_node()
        if root is None:
            raise ProfileError(f"{path}:1: empty; expected a contest profile, such as {CONTESTS / 'embedded.yaml'}")
        if problems := [*_unreadable(loader, root, 0)] or [*_spelling(root)]:
            raise _error(path, problems)
        return root, loader.construct_document(root)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ProfileError(f"{path}:{line}: not YAML in UTF-8: expected UTF-8; save the file in it") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        said = ", ".join(filter(None, (error.context, error.problem)))
        raise ProfileError(f"{path}:{line}: not YAML: {said}; correct the line") from error
    except yaml.reader.ReaderError as error:
        line = data.decode("utf-8")[: error.position].count("\n") + 1
        raise ProfileError(f"{path}:{line}: not YAML: {error.reason}; remove the character") from error
    except RecursionError:
        raise ProfileError(f"{path}:1: nested too deeply to be a contest profile; remove what nests") from None


def _unreadable(loader: Any, node: yaml.Node, depth: int) -> Iterator[tuple[int, str]]:
    """Scalars that look like a date or a number and are none, and nodes deeper than any profile has."""
    if depth > DEEPEST:
        yield node.start_mark.line + 1, f"nested more than {DEEPEST} deep; remove what nests"
    elif isinstance(node, yaml.ScalarNode) and node.tag != MERGE:  # told with the keys
        try:
            loader.construct_object(node)
        except (ValueError, OverflowError) as error:
            found = _shortened(node.value)
            yield node.start_mark.line + 1, f"not YAML: found {found}, which cannot be read ({error}); put it in quotes"
    elif isinstance(node, yaml.CollectionNode):
        for item in node.value:
            for child in item if isinstance(item, tuple) else (item,):
                yield from _unreadable(loader, child, depth + 1)


def _spelling(node: yaml.Node, path: str = "") -> Iterator[tuple[int, str]]:
    """(line, message) of every key that its mapping has already used, or that takes keys from elsewhere."""
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            line, field = key.start_mark.line + 1, f"{path}{key.value}"
            if key.tag == MERGE:
                yield line, f"{field}: expected a field, found a merge key; write the fields themselves"
            elif not isinstance(key, yaml.ScalarNode):
                yield line, f"{path.rstrip('.')}: expected text for a key, found a list or a mapping; write a name"
                continue
            elif key.value in seen:
                yield line, f"{field}: expected each key once, found {key.value!r} again; keep one"
            seen.add(key.value)
            yield from _spelling(value, f"{field}.")
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _spelling(item, f"{path}{index}.")


def _node_at(root: yaml.Node, path: Place) -> tuple[yaml.Node, Place]:
    """The deepest node on a path of keys and indices, and the rest of the path that the document lacks."""
    node = root
    for depth, step in enumerate(path):
        found: yaml.Node | None = None
        if isinstance(node, yaml.MappingNode):
            found = next((value for key, value in node.value if key.value == str(step)), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            found = node.value[step]
        if found is None:
            return node, path[depth:]
        node = found
    return node, ()


def _line(root: yaml.Node, place: Place) -> int:
    """The line of a field's key, or of an entry of a list; of the part around it where the document lacks it."""
    node, rest = _node_at(root, place)
    around, _ = _node_at(root, place[: len(place) - len(rest)][:-1])
    if isinstance(around, yaml.MappingNode):
        node = next((key for key, value in around.value if value is node), node)
    return int(node.start_mark.line) + 1


def _describe(root: yaml.Node, problem: ErrorDetails) -> tuple[int, str]:
    """(line, message) for one of pydantic's problems."""
    place, kind = problem["loc"], problem["type"]
    _, rest = _node_at(root, place)
    line = _line(root, place)
    if kind == "missing":
        return line, f"{_dotted(place)}: expected a value, found nothing; add `{place[-1]}`"
    if kind == "extra_forbidden":
        known = _fields(place[:-1])
        expected = f"one of {', '.join(known)}" if 0 < len(known) <= MOST_NAMED else "a field that a profile has there"
        near = _similar(str(place[-1]), known)
        return (
            line,
            f"{_dotted(place)}: expected {expected}, found {place[-1]!r}; remove it or correct its spelling{near}",
        )
    context = problem.get("ctx", {})
    expected, remedy = (text.format(**context) for text in KINDS.get(kind, (problem["msg"], "correct the value")))
    found = context.get("found") or _shortened(problem["input"])
    field = _dotted(place[: len(place) - len(rest)]) or "document"  # the rest says which of several types was tried
    return line, f"{field}: expected {expected}, found {found}; {remedy}"


def _dotted(place: Place) -> str:
    return ".".join(map(str, place))


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


def _similar(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f" (is {near[0]} meant?)" if near else ""


def _fields(place: Place) -> list[str]:
    """The fields of the section at a place; empty where it is none."""
    models: list[type[BaseModel]] = [Profile]
    for step in place:
        if isinstance(step, int):
            continue
        models = [inner for model in models if step in model.model_fields for inner in _models(model, step)] or models
    return sorted({name for model in models for name in model.model_fields})


def _models(model: type[BaseModel], field: str) -> list[type[BaseModel]]:
    """The sections that a field's type mentions."""
    pending: list[Any] = [model.model_fields[field].annotation]
    found = []
    while pending:
        annotation = pending.pop()
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            found.append(annotation)
        pending.extend(get_args(annotation))
    return found

"""All phases in order: recipe and settings in, the bytes of an artifact out."""

from __future__ import annotations

import ast
import hashlib
import json
import platform
import subprocess
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builder import __version__
from builder.availability import missed_imports, replace_failing, write_failing
from builder.bindings import Bindings, Variable
from builder.class_modules import ClassModules
from builder.configs import Configs
from builder.emit import Output, emit
from builder.environment import Environment, find_writes
from builder.errors import BuildError, Problem
from builder.facts import Facts
from builder.fields import write_fields
from builder.forbid import available, forbidden
from builder.frames import hold_lines
from builder.freeze import freeze
from builder.given import Given, gather, option_words, variables
from builder.knobs import Config, Knob, resolve
from builder.late import Late
from builder.launch import Kernel, check_command, kernels, launch_command
from builder.link import Linker
from builder.listing import all_knobs, not_handed_on, unknown, warnings
from builder.loader import changed_by_loader
from builder.module_values import module_values
from builder.names import name_everything
from builder.namespaces import written_out
from builder.nesting import room_for_trees
from builder.options import find as find_options
from builder.scan import Part, Program, scan
from builder.settings import Settings, own_hooks, read_settings, settings_of
from builder.shake import Kept, Shaker
from builder.strip import strip
from builder.values import RaisedError, UnknownValueError
from builder.verify import verify

DEFAULT_CONTEST = "embedded"


@dataclass(frozen=True)
class Request:
    """What to build: a settings file, or an entry with its launch string; and the values that knobs get."""

    settings: Path | None = None
    entry: Path | None = None
    config: Path | None = None
    env_file: Path | None = None
    launch: str | None = None
    sets: tuple[str, ...] = ()
    contest: str | None = None
    strip_comments: bool = False


@dataclass(frozen=True)
class Build:
    """A finished build: its files by name, and what a summary shows."""

    files: dict[str, bytes]
    knobs: dict[str, Knob]
    kernels: dict[str, Kernel]
    launch: str
    size: int
    size_limit: int
    warnings: list[str]
    saved: int = 0  # bytes of comments that are not in train.py


def produce(
    settings_file: Path,
    config_file: Path | None = None,
    sets: list[str] | None = None,
    contest: str | None = None,
    strip_comments: bool = False,
) -> Build:
    """Build by a settings file: `build` with these parts of a request."""
    return build(Request(settings_file, None, config_file, None, None, tuple(sets or ()), contest, strip_comments))


def build(request: Request) -> Build:
    """Build in memory, for the settings' contest or another one. Raises BuildError with every problem found.

    Raises scorer.contest.ProfileError when a contest is given that cannot be used. Writes nothing.
    """
    with room_for_trees():
        return _build(request)


def _settings(request: Request) -> Settings:
    if request.settings is not None:
        return read_settings(request.settings, request.contest)
    assert request.entry is not None
    return settings_of(request.entry, request.contest or DEFAULT_CONTEST)


def _build(request: Request) -> Build:
    settings = _settings(request)
    given, problems = gather(settings, request.config, request.env_file, request.launch, list(request.sets))
    program = scan(settings)
    texts: dict[str, str] = {}
    for writing in (written_out, module_values):
        more = writing(program)
        if more:
            texts |= more
            program = scan(settings, texts)
    try:
        return _flatten(settings, program, request, given, problems)
    except BuildError as error:
        raise BuildError([*program.problems, *error.problems]) from error


def _flatten(settings: Settings, program: Program, request: Request, given: Given, problems: list[Problem]) -> Build:
    failing = replace_failing(program)
    config = resolve(program, given, problems)
    command = launch_command(settings, config) if given.launch is None else check_command(settings, given.launch)
    given.owned |= _variables_of(command, settings)
    bindings = Bindings(program)
    facts = _facts_of(program, bindings, config, given)
    options = find_options(facts)
    for one in options:
        if one.vanishes:
            facts.configs.add_record(one, one.names, one.takers)
    late = Late(program, bindings)
    rewrites = freeze(program, facts, options, late)
    write_failing(failing, rewrites)
    linker = Linker(program, bindings, rewrites)
    shaker = Shaker(program, bindings, linker, late)
    kept = shaker.run()
    classes, lined = ClassModules(linker, bindings, shaker.effects, kept.parts), dict[Part, None]()
    _check_kept(program, shaker, bindings, kept, classes, lined)
    problems = unknown(facts, given) + changed_by_loader(facts)
    if problems:
        raise BuildError(problems)
    knobs = all_knobs(facts, given)
    names = name_everything(program, bindings, linker, kept, rewrites, late)
    others = {name: knob.value for name, knob in knobs.items() if knob.kind != "config"}
    counted = kernels(settings, config, others, bindings, kept)
    written = write_fields(bindings, linker, shaker, kept, rewrites)
    classes.write(program.entry)
    shown = _facts(program, knobs, request.config, command, kept)
    output = emit(program, kept, names, rewrites, shaker, shown, written)
    hold_lines(output, lined)
    commented = len(output.text.encode())
    if request.strip_comments:
        output = strip(output)
    verify(output, rewrites, settings.profile, settings.hooks)
    files = _files(settings, program, output, knobs, request, command, counted)
    missing = [name for name, kernel in counted.items() if kernel.launches is None]
    told = (
        warnings(facts, given)
        + not_handed_on(facts, given, linker, kept.parts)
        + shaker.warnings
        + missed_imports(settings, failing, output.places)
    )
    if request.settings is not None:
        told += [
            f"{settings.name}: kernel `{name}` is in the artifact and has no formula under `kernels`"
            for name in missing
        ]
    size, limit = len(files["train.py"]), settings.profile.files.size_limit_bytes
    return Build(files, knobs, counted, command, size, limit, told, commented - size)


def _variables_of(command: str, settings: Settings) -> dict[str, str]:
    """The contest's variables in the launch command: they are known as they stand there."""
    pairs = (word.partition("=") for word in command.split())
    return {name: value for name, equals, value in pairs if equals and name in settings.profile.launch.environment}


def _facts_of(program: Program, bindings: Bindings, config: Config | None, given: Given) -> Facts:
    """Everything that is known before freezing."""
    settings = program.settings
    configs = Configs(program, bindings)
    if config is not None:
        configs.find()
    fields = set(config.knobs) if config else set()
    environment = Environment(
        variables(given, fields | set(settings.constants)),
        option_words(given),
        writes=find_writes(program, bindings),
    )
    facts = Facts(program, bindings, configs, config, environment, {})
    constants: dict[Variable, tuple[Any, tuple[str, ...]]] = {}
    for name, (module, attribute) in settings.constants.items():
        variable = Variable(module, attribute)
        constants[variable] = (_constant(facts, given, name, variable), (name,))
    facts.constants.update(constants)
    return facts


def _constant(facts: Facts, given: Given, name: str, variable: Variable) -> Any:
    """The value of a module constant that is a knob: the one given, else the one that its module has."""
    settings = facts.program.settings
    module = facts.program.modules.get(variable.module)
    definition = facts.bindings.definition(variable) if module else None
    match definition:
        case (
            ast.Assign(targets=[ast.Name()], value=value) | ast.AnnAssign(target=ast.Name(), value=ast.expr() as value)
        ):
            pass
        case _:
            message = f"{variable.module} has no constant `{variable.name}` that is assigned once at its top level"
            raise settings.refuse("constants", message, "name one that is")
    if name in given.values:
        return given.last(name).value
    assert module is not None
    try:
        return facts.evaluator(module).evaluate(value)
    except (UnknownValueError, RaisedError) as error:
        message = f"the value of `{variable.name}` cannot be told: {error}"
        raise settings.refuse("constants", message, f"give it: --set {name}=VALUE") from error


def _check_kept(
    program: Program,
    shaker: Shaker,
    bindings: Bindings,
    kept: Kept,
    classes: ClassModules,
    lined: dict[Part, None],
) -> None:
    """Raise BuildError for all that kept code does and may not do, imports that the machine lacks included."""
    settings, linker = program.settings, shaker.linker
    problems: list[Problem] = (
        program.problems + shaker.problems + forbidden(linker, shaker, bindings, settings, kept, classes, lined)
    )
    for found in [*(item for imports in kept.outside.values() for item in imports), *kept.bare]:
        if found in kept.typing:
            continue
        module = shaker.home(found)
        name = found.alias.name if isinstance(found.statement, ast.Import) else found.statement.module or ""
        problems += available(settings, name, module.source.start(found.statement), module)
    rejected = [problem for problem in problems if problem.code == "BLD009"]
    if rejected:  # with other knobs the rest may be as it should
        raise BuildError(rejected)
    leftovers = _still_used(linker, kept, program)
    if leftovers:  # what the config's own module then needs is not worth telling
        assert program.settings.config is not None
        own = program.modules[program.settings.config[0]].source.name
        problems = [problem for problem in problems if problem.file != own] + leftovers
    if problems:
        raise BuildError(problems)


def _still_used(linker: Linker, kept: Kept, program: Program) -> list[Problem]:
    """Places in kept code that need the config class or its loader after freezing."""
    settings = program.settings
    problems = []
    for part in kept.parts:
        for occurrence in linker.live(part):
            reference = linker.bindings.of(part.module, occurrence)
            meaning: Any = reference.meaning if reference else None
            key = (getattr(meaning, "module", None), getattr(meaning, "name", None))
            if (
                key in (settings.config, settings.loader)
                and occurrence.kind in ("load", "type_load")
                and part.module.name != key[0]
            ):
                message = f"`{occurrence.name}` is still used after every knob is frozen"
                remedy = "read fields of a parameter annotated with the config class; nothing else can be frozen"
                problems.append(part.module.problem(occurrence.start, "BLD030", message, remedy))
    return problems


def _facts(program: Program, knobs: dict[str, Knob], config_file: Path | None, command: str, kept: Kept) -> list[str]:
    """The paragraphs of the artifact's docstring behind the entry's own."""
    settings, profile = program.settings, program.settings.profile
    budget = profile.budget
    paragraphs = [
        f"Contest: {profile.title}.",
        f"Launch: {command}",
        f"Budget: {budget.train_seconds:g} s of training; start-up is free up to "
        f"{budget.startup_allowance_seconds:g} s, to the end of update "
        f"{budget.startup_updates_excluded}.",
    ]
    if profile.launch.full_chip and profile.launch.fills_chip(command):
        paragraphs.append("Machine: the launch uses the full chip.")
    for hook in own_hooks(profile):
        for part in kept.parts:
            if isinstance(part.node, ast.FunctionDef) and part.node.name == hook.name and part.module is program.entry:
                summary = (ast.get_docstring(part.node) or "").split("\n\n")[0]
                if summary:
                    paragraphs.append(f"{hook.name}({', '.join(hook.parameters)}): {summary}")
    if knobs:
        # Some may have been given otherwise, over the file.
        only_file = config_file and all(
            knob.origin.startswith(("default", f"file {settings.display(config_file)}")) for knob in knobs.values()
        )
        where = f" of {settings.display(config_file)}" if config_file and only_file else ""
        paragraphs.append(
            f"Built by submission-parity: every knob is frozen to the values{where}; manifest.json lists them."
        )
    wrapped = [text if text.startswith("Launch: ") else _wrap(text) for text in paragraphs]
    return ["\n".join(wrapped)]


def _wrap(text: str) -> str:
    return textwrap.fill(text, 110, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def _files(
    settings: Settings,
    program: Program,
    output: Output,
    knobs: dict[str, Knob],
    request: Request,
    command: str,
    counted: dict[str, Kernel],
) -> dict[str, bytes]:
    data = output.text.encode()
    files = (module.source for module in program.modules.values() if not module.source.name.endswith("/"))
    sources = {source.name: source.sha256 for source in files}
    for path in [settings.path, request.config, request.env_file]:
        if path is not None:
            text = path.read_bytes().replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            sources[settings.display(path)] = hashlib.sha256(text).hexdigest()
    manifest = {
        "manifest_version": 1,
        "artifact_sha256": hashlib.sha256(data).hexdigest(),
        "size_bytes": len(data),
        "size_limit_bytes": settings.profile.files.size_limit_bytes,
        "sources": dict(sorted(sources.items())),
        "git": git_state(settings.root, sorted(sources)),
        "knobs": {
            name: {"value": knob.value, "origin": knob.origin, "kind": knob.kind} for name, knob in knobs.items()
        },
        "launch_command": command,
        "contest": {"name": settings.profile.name, "version": settings.profile.version},
        "kernels": {name: _told(kernel) for name, kernel in counted.items()},
        "tools": {"builder": __version__, "python": ".".join(platform.python_version_tuple()[:2])},
    }
    return {
        "train.py": data,
        "train.py.map": source_map(output).encode(),
        "launch-command.txt": (command + "\n").encode(),
        "manifest.json": (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode(),
    }


def _told(kernel: Kernel) -> dict[str, Any]:
    """A kernel as the manifest tells it."""
    told: dict[str, Any] = {"launches_per_update": kernel.launches, "place": kernel.place}
    if kernel.by_passes:
        told["launches_by_backward_passes"] = kernel.by_passes
    return told


def source_map(output: Output) -> str:
    """`[source index, line]` or null for every line of the artifact, as JSON of one line per entry's file."""
    names = sorted({place[0] for place in output.places if place})
    index = {name: i for i, name in enumerate(names)}
    lines = [[index[place[0]], place[1]] if place else None for place in output.places]
    return (
        json.dumps({"version": 1, "sources": names, "lines": lines}, separators=(",", ":"), ensure_ascii=False) + "\n"
    )


def git_state(root: Path, files: list[str]) -> dict[str, Any]:
    """The commit of the sources and whether they differ from it; nulls where there is no repository."""

    def git(*arguments: str) -> str | None:
        try:
            result = subprocess.run(
                ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=20, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return result.stdout.strip() if result.returncode == 0 else None

    commit = git("rev-parse", "HEAD")
    if commit is None:
        return {"commit": None, "dirty": None}
    status = git("status", "--porcelain", "--", *files)
    return {"commit": commit, "dirty": None if status is None else bool(status)}

"""`builder produce` makes an artifact, `builder produce --check` compares one with its sources, `builder diff`
two artifacts; `builder where` and `builder trace` translate a line and a log of an artifact to the recipe's own.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from builder import places
from builder.diff import as_text, diff
from builder.errors import BuildError, refuse
from builder.files import write_directory
from builder.produce import Build, Request, build
from builder.trace import Tracer
from scorer.contest import ProfileError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


WHAT, VALUES, RESULT = (
    "What is built",
    "Values of the knobs; where several are given, the later one counts",
    "What comes out",
)


@app.callback()
def _application() -> None:
    """Flatten a training program, of one file or a whole package, into one readable train.py for a contest: every knob
    frozen to the values of one run, what they switch off left out, and proven to be the same program.

    Begin with `produce`. `diff` compares two artifacts by their knobs; `where` and `trace` lead from an artifact's
    lines and tracebacks back to the source.
    """


@app.command("produce")
def produce_command(
    settings: Annotated[
        Path | None,
        typer.Option(
            "--settings",
            metavar="FILE",
            help="Build settings, which name entry, contest and launch; default: build.yaml by the config's directory.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    entry: Annotated[
        Path | None,
        typer.Option(
            "--entry",
            metavar="FILE",
            help="The program's main file, in place of build settings; needs --launch.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    contest: Annotated[
        str | None,
        typer.Option(
            "--contest",
            metavar="NAME",
            help="Contest profile, a name or a YAML file; default: the settings' own, with --entry `embedded`.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="YAML file with fields of the config class, e.g. recipe/configs/embedded.yaml.",
            rich_help_panel=VALUES,
        ),
    ] = None,
    env_file: Annotated[
        Path | None,
        typer.Option(
            "--env-file",
            metavar="FILE",
            help="Environment variables, one NAME=VALUE a line.",
            rich_help_panel=VALUES,
        ),
    ] = None,
    launch: Annotated[
        str | None,
        typer.Option(
            "--launch",
            metavar="STRING",
            help="How the program is run today: its variables and flags are frozen, the bare command stays.",
            rich_help_panel=VALUES,
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="One knob: a field of the config, a module constant (package.module:NAME), a variable, an --option. "
            "May be repeated.",
            rich_help_panel=VALUES,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Directory to write the artifact to; default: build/artifact.",
            rich_help_panel=RESULT,
        ),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(
            "--check",
            metavar="DIR",
            help="Write nothing: say whether DIR is what the sources build today.",
            rich_help_panel=RESULT,
        ),
    ] = None,
    strip_comments: Annotated[
        bool,
        typer.Option(
            "--strip-comments",
            metavar="",
            help="Leave comments out; docstrings and licences stay.",
            rich_help_panel=RESULT,
        ),
    ] = False,
) -> None:
    """Build train.py, launch-command.txt, manifest.json and train.py.map.

    A recipe with build settings: `produce --config recipe/configs/embedded.yaml`

    A hand-kept file: `produce --entry train.py --launch "DEPTH=9 torchrun --nproc_per_node=4 train.py --lr 0.1" -o out`

    Every knob is frozen to its value, listed with where that comes from; what no knob of this run reaches is left out.
    Nothing is guessed: what cannot be decided is refused with file, line and what to do, all of it at once. Exit
    status: 0 built (with --check: equal), 1 the checked directory differs, 2 refused, and nothing written.
    """
    if output is not None and check is not None:
        raise typer.BadParameter("give either -o DIR or --check DIR")
    if entry is not None and settings is not None:
        raise typer.BadParameter("give either --entry FILE or --settings FILE, which names the entry")
    if entry is not None and launch is None:
        raise typer.BadParameter("--entry needs --launch, the string by which the program is run")
    request = Request(
        settings=None if entry is not None else _settings(settings, config),
        entry=entry,
        config=config,
        env_file=env_file,
        launch=launch,
        sets=tuple(set_ or ()),
        contest=contest,
        strip_comments=strip_comments,
    )
    made = build(request)
    for warning in made.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if check is not None:
        difference = first_difference(check, made)
        if difference:
            print(difference)
            raise typer.Exit(1)
        print(f"{check} is what the sources build.")
        return
    output = output or Path("build/artifact")
    if entry is not None and entry.resolve().parent == output.resolve():
        message, remedy = f"the output directory is the one of {entry.name}, the program itself", "name another one"
        raise refuse("BLD002", output.resolve().name, 0, message, remedy)
    write_directory(output, made.files)
    _show(made, output)


def _settings(settings: Path | None, config: Path | None) -> Path:
    if settings is not None:
        return settings
    if config is None:
        raise typer.BadParameter("give --config FILE, or --settings FILE, or --entry FILE with --launch STRING")
    if not config.is_file():
        raise refuse("BLD003", config.as_posix(), 0, "there is no such file", "name an existing YAML file of knobs")
    beside = [config.parent / "build.yaml", config.parent.parent / "build.yaml"]
    found = next((path for path in beside if path.is_file()), None)
    if found is None:
        message = "no build settings belong to it: there is no build.yaml beside it, nor one directory up"
        raise refuse("BLD002", config.as_posix(), 0, message, "write them, or name them by --settings FILE")
    return found


def first_difference(directory: Path, build: Build) -> str:
    """Where a directory differs from a build: "" when it does not. Git state and Python version do not count."""
    for name, content in build.files.items():
        path = directory / name
        if not path.is_file():
            return f"{path}: missing"
        found = path.read_bytes()
        difference = (
            _manifest_difference(found, content) if name == "manifest.json" else _line_difference(found, content)
        )
        if difference:
            return f"{path}{difference}"
    return ""


def _manifest_difference(found: bytes, built: bytes) -> str:
    here = _json(found)
    for field, today in _json(built).items():
        if field not in ("git", "tools") and here.get(field) != today:
            return f": `{field}` differs: {_short(here.get(field))} here, {_short(today)} built today"
    return ""


def _line_difference(found: bytes, built: bytes) -> str:
    if found == built:
        return ""
    old, new = found.decode("utf-8", "replace").split("\n"), built.decode().split("\n")
    differing = (i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
    line = next(differing, min(len(old), len(new)))
    here, today = ("".join(lines[line : line + 1]) for lines in (old, new))
    what = "differs from what the sources build today"
    return f":{line + 1}: {what}\n  here:  {_short(here)}\n  today: {_short(today)}"


def _json(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else text[:97] + "..."


def _show(build: Build, output: Path) -> None:
    console = Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console = Console(highlight=False, emoji=False, width=240)  # one line a row, whatever reads it
    style = box.ROUNDED if console.is_terminal else None
    if build.knobs:
        table = Table("knob", "value", "origin", box=style)
        for name, knob in build.knobs.items():
            table.add_row(name, repr(knob.value), knob.origin)
        console.print(table)
    if build.kernels:
        table = Table("kernel", "launches per update", "defined at", box=style)
        for name, kernel in build.kernels.items():
            table.add_row(name, "unknown" if kernel.launches is None else str(kernel.launches), kernel.place)
        console.print(table)
    share = 100 * build.size / build.size_limit
    size = f"{output / 'train.py'}: {build.size:,} bytes, {share:.1f} % of the contest's {build.size_limit:,}"
    if build.saved:
        size += f"; comments stripped: {build.saved:,} bytes less"
    for text in (size, f"launch: {build.launch}"):
        console.print(text, soft_wrap=True, markup=False)


@app.command()
def where(
    place: Annotated[
        str,
        typer.Argument(
            metavar="DIR_OR_FILE:LINE[-LINE]",
            help="A line of an artifact's train.py, or a range of lines, e.g. build/artifact:120-140.",
        ),
    ],
) -> None:
    """Say which line of the recipe a line of an artifact came from."""
    print("\n".join(places.where(place)))


@app.command()
def trace(
    artifact: Annotated[
        Path, typer.Argument(metavar="[DIR_OR_FILE]", help="The artifact whose log it is; default: this directory.")
    ] = Path(),
    root: Annotated[
        Path, typer.Option(metavar="DIR", help="Where the recipe's files lie, to show their text; default: here.")
    ] = Path(),
) -> None:
    """Translate an artifact's log on standard input: tracebacks and mentions of train.py:LINE name the recipe's lines.

    builder trace build/artifact < log
    """
    tracer = Tracer(artifact, root)
    lines = (line.decode("utf-8", "surrogateescape") for line in sys.stdin.buffer)
    for line in tracer.run(lines):
        sys.stdout.buffer.write(line.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
    if tracer.strangers:
        what = f"{tracer.strangers} frames show code that this artifact does not have there, and are left as they are"
        print(f"warning: {what}: is it the log of another build?", file=sys.stderr)


@app.command("diff")
def diff_command(
    first: Annotated[Path, typer.Argument(metavar="A", help="An artifact: its directory, or its manifest.json.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="The artifact to compare it with.")],
) -> None:
    """Show the knobs that changed between two artifacts, and what else did.

    Exit status: 0 equal, 1 different, 2 an artifact that cannot be read.
    """
    rows = diff(first, second)
    if not rows:
        print(f"{first} and {second} are the same artifact.")
        return
    console = Console(highlight=False, emoji=False)
    if console.is_terminal:
        table = Table("knob", "A", "B", "origin", box=box.ROUNDED)
        for row in rows:
            table.add_row(*(escape(cell) for cell in (row.what, row.first, row.second, row.origin)))
        console.print(table)
    else:
        print("\n".join(as_text(rows)))
    raise typer.Exit(1)


def main() -> None:
    """The console script."""
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ends like every tool when nobody reads on, not with 1
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # here, where an error of it can still be told
    except (BuildError, ProfileError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except OSError as error:  # of what is printed: what is read and written has errors of its own
        print(f"builder: {error.filename or 'standard output'}: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left cannot be printed either
        sys.exit(2)
    finally:
        signal.signal(signal.SIGPIPE, before)

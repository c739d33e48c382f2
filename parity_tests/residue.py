"""What a program still reads from outside of itself, by a look at its syntax that shares nothing with the builder's.

residue(text) == []        # it reads no variable but the launcher's, and no command line
"""

from __future__ import annotations

import ast
import fnmatch

LAUNCHER = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_*")
ENVIRONMENT = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv", "expandvars", "posix", "dotenv"}
COMMAND_LINE = {"argv", "orig_argv", "argparse", "optparse", "getopt", "click", "typer", "fire", "tyro", "parse_args"}


def residue(text: str, allowed: tuple[str, ...] = LAUNCHER) -> list[str]:
    """Each place where a program may read the environment or the command line, as `line: what`."""
    tree = ast.parse(text)
    fine: set[int] = set()
    for node in ast.walk(tree):
        fine |= _launcher_read(node, allowed)
    found = []
    for node in ast.walk(tree):
        name = {ast.Name: "id", ast.Attribute: "attr"}.get(type(node))
        names = [getattr(node, name)] if name else []
        if isinstance(node, ast.Name) and node.id in ("argv", "orig_argv"):
            names = []  # a name that people give to parameters; the import of sys's would show
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [part for alias in node.names for part in alias.name.split(".")]
            names += (getattr(node, "module", None) or "").split(".")
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = [node.value] if node.value in ENVIRONMENT | COMMAND_LINE else []
        for used in names:
            if used in ENVIRONMENT | COMMAND_LINE and id(node) not in fine:
                found.append((node.lineno, used))  # type: ignore[attr-defined]
    return [f"{line}: {used}" for line, used in sorted(found)]


def _launcher_read(node: ast.AST, allowed: tuple[str, ...]) -> set[int]:
    """The `os.environ` or `os.getenv` inside a node that asks for one variable of the launcher by name."""
    match node:
        case ast.Subscript(ctx=ast.Store(), value=ast.Attribute(attr="environ") as read, slice=ast.Constant()):
            return {id(read)}
        case ast.Subscript(value=ast.Attribute(attr="environ") as read, slice=ast.Constant(value=str(name))):
            pass
        case ast.Call(
            func=ast.Attribute(attr="get", value=ast.Attribute(attr="environ") as read),
            args=[ast.Constant(value=str(name)), *_],
        ):
            pass
        case ast.Call(func=ast.Attribute(attr="getenv") as read, args=[ast.Constant(value=str(name)), *_]):
            pass
        case ast.Compare(
            left=ast.Constant(value=str(name)),
            ops=[ast.In() | ast.NotIn()],
            comparators=[ast.Attribute(attr="environ") as read],
        ):
            pass
        case ast.Attribute(attr="Namespace", value=ast.Name(id="argparse") as read):
            return {id(read)}  # an object of plain values
        case ast.Import(names=[ast.alias(name="argparse", asname=None)]):
            return {id(node)}  # what is used of it counts
        case _:
            return set()
    return {id(read)} if any(fnmatch.fnmatchcase(name, pattern) for pattern in allowed) else set()

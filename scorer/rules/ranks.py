"""Checks of runs that leave a part of the chip, or some of the ranks, without work."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.endings import EXITS, exits_with_error
from scorer.rules.environment import settings
from scorer.rules.numerals import number
from scorer.rules.reach import Reach, reach
from scorer.rules.source import Hit, Source
from scorer.rules.taint import Taint

RANK = re.compile(r"^(local_|ddp_|global_|my_|node_)?rank$", re.IGNORECASE)
RANK_VARIABLES = {"RANK", "LOCAL_RANK", "GROUP_RANK"}
RANK_CALLS = {"torch.distributed.get_rank", "torch.distributed.get_node_local_rank"}
GROUPS = {"torch.distributed.new_group", "torch.distributed.new_subgroups_by_enumeration"}


def idle_ranks(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Ranks that leave, or skip the training, because of their number; cores that the file does not use."""
    for setting in settings(source):
        if setting.name in profile.review.core_variables and setting.value is not None:
            for text in source.exact(setting.value) or ():
                cores = _cores(text)
                if cores is not None and profile.machine.cores is not None and cores < profile.machine.cores:
                    yield Hit(getattr(setting.node, "lineno", 1), {"WHAT": f"{setting.name}={text} uses {cores} cores"})
    table = reach(source)
    taint = Taint(source, lambda node: _is_rank(source, node), ast.Name, ast.Attribute, ast.Subscript, ast.Call)
    if not taint.any:
        return
    for block in source.blocks:
        for index, statement in enumerate(block):
            if isinstance(statement, ast.If) and taint.inside(statement.test):
                what = _skips(source, table, statement, block[index + 1 :])
                if what:
                    yield Hit(statement.lineno, {"WHAT": f"`{ast.unparse(statement.test)}` {what}"})


def _is_rank(source: Source, node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return isinstance(node.ctx, ast.Load) and RANK.match(node.id) is not None
    if isinstance(node, ast.Attribute):
        return isinstance(node.ctx, ast.Load) and RANK.match(node.attr) is not None
    if isinstance(node, ast.Subscript):
        is_variable = isinstance(node.slice, ast.Constant) and node.slice.value in RANK_VARIABLES
        return is_variable and source.resolve(node.value) == "os.environ"
    if isinstance(node, ast.Call):
        full = source.resolve(node.func)
        named = [a.value for a in node.args[:1] if isinstance(a, ast.Constant)]
        return full in RANK_CALLS or (full in {"os.environ.get", "os.getenv"} and bool(RANK_VARIABLES & {*named}))
    return False


def _skips(source: Source, table: Reach, node: ast.If, after: Sequence[ast.stmt]) -> str | None:
    """How a branch on the rank leaves some ranks without training; None: it does not."""
    follows = any(map(table.trains, after))
    for body, other in ((node.body, node.orelse), (node.orelse, node.body)):
        last = body[-1] if body else None
        if _exits(source, last) and (follows or any(map(table.trains, other)) or not _asks_for_first(node.test)):
            return "ends some ranks"
        if isinstance(last, (ast.Return, ast.Continue, ast.Break)) and follows:
            return "lets some ranks pass over the training"
        if any(map(table.trains, body)) and not any(map(table.trains, other)) and not follows:
            return "lets only some ranks train"
    return None


def _exits(source: Source, statement: ast.AST | None) -> bool:
    """Whether a statement ends the process as if all were well."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return source.resolve(statement.value.func) in EXITS and not exits_with_error(source, statement.value)
    raised = statement.exc if isinstance(statement, ast.Raise) else None
    made = raised.func if isinstance(raised, ast.Call) else raised
    if raised is None or made is None or source.resolve(made) != "builtins.SystemExit":
        return False
    given = raised.args if isinstance(raised, ast.Call) else []
    return not given or (isinstance(given[0], ast.Constant) and given[0].value in (None, 0))


def _asks_for_first(test: ast.expr) -> bool:
    """`rank == 0`, `rank != 0`, `rank`: the first rank and the others, which is how things are printed and saved."""
    if isinstance(test, ast.UnaryOp):
        return _asks_for_first(test.operand)
    if not isinstance(test, ast.Compare):
        return True
    side = test.comparators[0]
    return len(test.ops) == 1 and isinstance(side, ast.Constant) and side.value == 0


def _cores(text: str) -> int | None:
    """How many cores "0-3" or "0,1,2" names; None: it is neither."""
    total = 0
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            return None
        total += int(last) - int(first) + 1 if dash else 1
    return total


def smaller_groups(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """A process group of some of the ranks that the launch string starts."""
    ranks = profile.launch.world_size(artifact.launch_command)
    for node in source.every(ast.Call):
        if source.resolve(node.func) not in GROUPS:
            continue
        given = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "ranks")]
        count = _count(source, given[0]) if given else None
        if ranks is not None and count is not None and count < ranks:
            yield Hit(node.lineno, {"COUNT": str(count), "RANKS": str(ranks)})


def _count(source: Source, node: ast.expr) -> int | None:
    """How many ranks a list or a range of literals names."""
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return len(node.elts)
    if isinstance(node, ast.Call) and source.resolve(node.func) == "builtins.list" and node.args:
        return _count(source, node.args[0])
    if isinstance(node, ast.Call) and source.resolve(node.func) == "builtins.range":
        limits = [number(source, argument) for argument in node.args]
        whole = [limit for limit in limits if isinstance(limit, int)]
        return len(range(*whole)) if whole and len(whole) == len(limits) and 0 not in whole[2:] else None
    return None

"""What came with and went with each version of Python: modules and names of the standard library, builtins, syntax.

From "What's New in Python" 3.10 to 3.13. The builder may run under another Python than the contest's machine has.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from builder import strings, trees
from builder.source import Source, all_statements

Version = tuple[int, int]

_ADDED = {
    "3.10": "aiter anext EncodingWarning contextlib.aclosing dataclasses.KW_ONLY inspect.get_annotations "
    "itertools.pairwise types.EllipsisType types.NoneType types.NotImplementedType types.UnionType "
    "typing.Concatenate typing.ParamSpec typing.ParamSpecArgs typing.ParamSpecKwargs typing.TypeAlias typing.TypeGuard "
    "typing.is_typeddict sys.orig_argv sys.stdlib_module_names",
    "3.11": "BaseExceptionGroup ExceptionGroup tomllib asyncio.Barrier asyncio.Runner asyncio.TaskGroup "
    "asyncio.Timeout asyncio.timeout asyncio.timeout_at ast.TryStar contextlib.chdir datetime.UTC enum.EnumCheck "
    "enum.EnumType enum.FlagBoundary enum.ReprEnum enum.StrEnum enum.member enum.nonmember enum.property enum.verify "
    "hashlib.file_digest http.HTTPMethod inspect.getmembers_static locale.getencoding logging.getLevelNamesMapping "
    "math.cbrt math.exp2 operator.call re.NOFLAG sys.exception typing.LiteralString typing.Never typing.NotRequired "
    "typing.Required typing.Self typing.TypeVarTuple typing.Unpack typing.assert_never typing.assert_type "
    "typing.clear_overloads typing.dataclass_transform typing.get_overloads typing.reveal_type",
    "3.12": "asyncio.create_eager_task_factory asyncio.eager_task_factory calendar.Day calendar.Month "
    "collections.abc.Buffer csv.QUOTE_NOTNULL csv.QUOTE_STRINGS inspect.BufferFlags inspect.markcoroutinefunction "
    "itertools.batched logging.getHandlerByName logging.getHandlerNames math.sumprod os.setns os.unshare "
    "os.path.isjunction os.path.splitroot random.binomialvariate sys.monitoring sys.activate_stack_trampoline "
    "threading.setprofile_all_threads threading.settrace_all_threads types.get_original_bases typing.TypeAliasType "
    "typing.override",
    "3.13": "PythonFinalizationError asyncio.EventLoop asyncio.QueueShutDown base64.z85decode base64.z85encode "
    "copy.replace enum.EnumDict glob.translate math.fma mimetypes.guess_file_type os.process_cpu_count "
    "os.timerfd_create pathlib.UnsupportedOperation queue.ShutDown re.PatternError statistics.kde "
    "statistics.kde_random typing.NoDefault typing.ReadOnly typing.TypeIs typing.get_protocol_members "
    "typing.is_protocol warnings.deprecated",
    "3.14": "annotationlib compression concurrent.interpreters string.templatelib",
}
_DROPPED = {
    "3.10": "formatter parser symbol",
    "3.11": "binhex asyncio.coroutine inspect.ArgSpec inspect.formatargspec inspect.getargspec",
    "3.12": "asynchat asyncore distutils imp smtpd ast.Bytes ast.Ellipsis ast.NameConstant ast.Num ast.Str "
    "configparser.SafeConfigParser importlib.find_loader locale.format pkgutil.ImpImporter pkgutil.ImpLoader "
    "ssl.RAND_pseudo_bytes ssl.match_hostname ssl.wrap_socket",
    "3.13": "aifc audioop cgi cgitb chunk crypt imghdr lib2to3 mailcap msilib nis nntplib ossaudiodev pipes sndhdr "
    "spwd sunau telnetlib uu xdrlib configparser.LegacyInterpolation locale.resetlocale re.TEMPLATE re.template "
    "typing.io typing.re unittest.findTestCases unittest.getTestCaseNames unittest.makeSuite",
}


def version(text: str) -> Version:
    """`3.12` as numbers."""
    major, minor = map(int, text.split("."))
    return major, minor


ADDED = {name: number for number, names in _ADDED.items() for name in names.split()}
DROPPED = {name: number for number, names in _DROPPED.items() for name in names.split()}
# Modules of the standard library under any version, whichever runs the builder.
STANDARD = frozenset(
    {name for name in (*ADDED, *DROPPED) if "." not in name and name.islower() and name not in ("aiter", "anext")}
    | sys.stdlib_module_names
)


def absent(path: str, python: Version) -> str:
    """Why a Python of that version has no module or name `path` ("came with Python 3.13"); "" when it has."""
    words = path.split(".")
    for known in (".".join(words[:end]) for end in range(1, len(words) + 1)):
        if known in ADDED and version(ADDED[known]) > python:
            return f"`{known}` came with Python {ADDED[known]}"
        if known in DROPPED and version(DROPPED[known]) <= python:
            return f"`{known}` was dropped in Python {DROPPED[known]}"
    return ""


def newer_syntax(source: Source, node: ast.stmt, python: Version) -> Iterator[tuple[int, str]]:
    """Syntax in a statement that came after a version: offsets, and what it is."""
    if sys.version_info[:2] <= python:
        return
    for child in (node, *all_statements(node)):
        if isinstance(child, (ast.ExceptHandler, ast.match_case)):
            continue
        if isinstance(child, ast.Match) and python < (3, 10):
            yield source.start(child), "`match` came with Python 3.10"
        if type(child).__name__ == "TryStar" and python < (3, 11):
            yield source.start(child), "`except*` came with Python 3.11"
        if type(child).__name__ == "TypeAlias" and python < (3, 12):
            yield source.start(child), "the `type` statement came with Python 3.12"
        if getattr(child, "type_params", None) and type(child).__name__ != "TypeAlias" and python < (3, 12):
            yield source.start(child), "type parameters in brackets came with Python 3.12"
    if python < (3, 12):
        for found in trees.nodes(node):
            if isinstance(found, ast.JoinedStr):
                yield from _nested(source, found)


def _nested(source: Source, node: ast.JoinedStr) -> Iterator[tuple[int, str]]:
    """Fields of an f-string that only Python 3.12 reads: the same quote, a backslash or a comment inside."""
    for field in strings.fields(source.text, source.start(node), source.end(node)):
        inner = source.text[field.start : field.end]
        if field.quote in inner or "\\" in inner or (len(field.quote) == 1 and "\n" in inner) or "#" in inner:
            yield field.start, "quotes, backslashes or comments inside the braces of an f-string came with Python 3.12"

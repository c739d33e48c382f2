"""Checks of what a run depends on besides its file and data: date, host, user, chance, and work beside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fnmatch import fnmatchcase

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.data import is_foreign
from scorer.rules.source import Hit, Source

FACTS = {
    "datetime.datetime.now": "the date", "datetime.datetime.utcnow": "the date", "datetime.datetime.today": "the date",
    "datetime.date.today": "the date", "time.localtime": "the date", "time.gmtime": "the date",
    "time.strftime": "the date",
    "time.ctime": "the date", "time.asctime": "the date", "time.tzname": "the place", "time.timezone": "the place",
    "socket.gethostname": "the host", "socket.getfqdn": "the host", "platform.*": "the host", "os.uname": "the host",
    "uuid.getnode": "the host", "getpass.getuser": "the user", "os.getlogin": "the user", "os.getuid": "the user",
    "os.geteuid": "the user", "os.getgid": "the user", "pwd.*": "the user", "os.path.expanduser": "the user",
    "pathlib.Path.home": "the user", "os.getpid": "the process", "os.getppid": "the process",
    "os.getpgid": "the process",
    "os.getpgrp": "the process", "os.getsid": "the process", "threading.get_ident": "the process",
    "os.getcwd": "the directory",
    "pathlib.Path.cwd": "the directory", "os.getcwdb": "the directory", "os.getloadavg": "the host's load",
    "psutil.*": "the host", "locale.getlocale": "the place", "locale.getdefaultlocale": "the place",
    "sys.executable": "the host", "sys.prefix": "the host", "sys.flags": "the interpreter's options",
    "sys.flags.*": "the interpreter's options", "os.ttyname": "the terminal",
    "builtins.__debug__": "the interpreter's options", "sys.warnoptions": "the interpreter's options",
    "sys._xoptions": "the interpreter's options", "sys._xoptions.*": "the interpreter's options",
    "os.path.getmtime": "the file's attributes", "os.path.getctime": "the file's attributes",
    "os.path.getatime": "the file's attributes", "os.readlink": "the file's attributes",
    "builtins.hash": "the interpreter's hash seed",
    "os.cpu_count": "the host", "os.process_cpu_count": "the host", "os.sched_getaffinity": "the host",
    "multiprocessing.cpu_count": "the host", "torch.get_num_threads": "the host", "torch.get_num_interop_threads":
    "the host", "shutil.disk_usage": "the host", "os.statvfs": "the host", "os.sysconf": "the host",
    "resource.getrlimit": "the host", "shutil.get_terminal_size": "the terminal",
    "os.get_terminal_size": "the terminal", "tempfile.gettempdir": "the directory", "tempfile.tempdir": "the directory",
    "locale.getpreferredencoding": "the place", "locale.getencoding": "the place", "locale.setlocale": "the place",
    "sys.getfilesystemencoding": "the place", "sys.stdout.encoding": "the place", "time.daylight": "the place",
    "time.altzone": "the place", "os.umask": "the user", "os.getgroups": "the user",
    "sys.stdout.isatty": "the terminal", "os.isatty": "the terminal", "sys.stderr.isatty": "the terminal",
}  # fmt: skip
ASKS_PATH = {
    *("os.path.exists", "os.path.lexists", "os.path.isfile", "os.path.isdir", "os.path.getsize", "os.path.getmtime"),
    *("os.access", "os.stat", "os.lstat"),
}
SEEDS = {
    *("torch.manual_seed", "random.seed", "numpy.random.seed", "numpy.random.default_rng", "random.Random"),
    *(
        "torch.cuda.manual_seed",
        "torch.cuda.manual_seed_all",
        "numpy.random.RandomState",
        "torch.Generator.manual_seed",
    ),
}
CLOCKS = {
    "time.time",
    "time.time_ns",
    "time.perf_counter",
    "time.perf_counter_ns",
    "time.monotonic",
    "time.monotonic_ns",
}
# Nobody can repeat these; a seed of None counts as none.
CHANCE = {
    *(
        "os.urandom",
        "os.getrandom",
        "random.SystemRandom",
        "torch.seed",
        "torch.random.seed",
        "uuid.uuid1",
        "uuid.uuid4",
    ),
    *("secrets.*", "torch.cuda.seed", "torch.cuda.seed_all", "torch.initial_seed"),
}
SEEDED = {"random.seed", "random.Random", "numpy.random.seed", "numpy.random.default_rng", "numpy.random.RandomState"}
BESIDE = {
    *("threading.Thread", "threading.Timer", "threading.start_new_thread", "threading.start_new", "asyncio.to_thread"),
    *(
        "concurrent.futures.ThreadPoolExecutor",
        "concurrent.futures.thread.ThreadPoolExecutor",
        "multiprocessing.dummy.*",
    ),
    *("sched.scheduler", "asyncio.run", "asyncio.new_event_loop", "asyncio.get_event_loop"),
}


def surroundings(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Facts about date, host, user, process, place and interpreter that conditions and seeds depend on, also by a
    variable.
    """
    for full, node in source.standing_for(*FACTS, *sorted(CLOCKS)):
        if isinstance(source.parent(node), ast.Attribute):
            continue
        if full == "builtins.hash" and getattr(source.scopes.scope(node).node, "name", "") in ("__eq__", "__hash__"):
            continue
        what = next((FACTS[pattern] for pattern in FACTS if fnmatchcase(full, pattern)), None)
        value = _called(source, node)
        if what is not None and _decides(source, value):
            yield source.hit(value, WHAT=what)
        elif _seeds(source, value):
            yield source.hit(value, WHAT=what or "the time")

    for call in source.every(ast.Call):
        asked = _asked_path(source, call)
        if asked is not None and any(is_foreign(t, profile) for t in source.texts(asked)) and _decides(source, call):
            yield source.hit(call, WHAT="the directory")


def _asked_path(source: Source, call: ast.Call) -> ast.expr | None:
    """The path of which a call asks whether it is there, or what it is."""
    if (source.resolve(call.func) or "") in ASKS_PATH:
        return call.args[0] if call.args else None
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("exists", "is_file", "is_dir", "stat"):
        return call.func.value
    return None


def _called(source: Source, node: ast.expr) -> ast.expr:
    parent = source.parent(node)
    return parent if isinstance(parent, ast.Call) and parent.func is node else node


def _decides(source: Source, node: ast.AST, depth: int = 0) -> bool:
    """Whether a condition, or the choice of an element, depends on an expression."""
    inner: ast.AST = node
    around = source.parent(node)
    while around is not None and not isinstance(around, (ast.stmt, ast.Lambda)):
        if isinstance(around, ast.Compare) or (isinstance(around, ast.IfExp) and around.test is inner):
            return not _is_assertion(source, around)
        if isinstance(around, ast.BoolOp) and around.values[-1] is not inner:
            return True
        if isinstance(around, ast.Subscript) and around.slice is inner:
            return True
        if isinstance(around, ast.Call) and source.resolve(around.func) in ("builtins.print", "builtins.str.format"):
            return False
        inner, around = around, source.parent(around)
    if isinstance(around, (ast.If, ast.While)) and around.test is inner:
        return True
    if isinstance(around, ast.Match) and around.subject is inner:
        return True
    if depth < 3 and isinstance(around, ast.Assign) and isinstance(around.targets[0], ast.Name):
        return any(_decides(source, use, depth + 1) for use in _uses(source, around.targets[0]))
    return False


def _is_assertion(source: Source, node: ast.AST) -> bool:
    return isinstance(source.parent(node), ast.Assert)


def _uses(source: Source, target: ast.Name) -> list[ast.Name]:
    """Where a variable that is bound once is read."""
    looked_up = source.scopes.scope(target).look_up(target.id)
    if looked_up is None or len(looked_up[1]) != 1:
        return []
    scope = looked_up[0]
    return [
        node
        for node in source.walk(scope.node)
        if isinstance(node, ast.Name) and node.id == target.id and isinstance(node.ctx, ast.Load)
    ]


def _seeds(source: Source, node: ast.AST, depth: int = 0) -> bool:
    """Whether a seed is made of an expression."""
    around = source.parent(node)
    while around is not None and not isinstance(around, ast.stmt):
        if isinstance(around, ast.Call) and (
            source.resolve(around.func) in SEEDS
            or (
                isinstance(around.func, ast.Attribute) and around.func.attr == "manual_seed" and node is not around.func
            )
        ):
            return True
        around = source.parent(around)
    if depth < 3 and isinstance(around, ast.Assign) and isinstance(around.targets[0], ast.Name):
        return any(_seeds(source, use, depth + 1) for use in _uses(source, around.targets[0]))
    return False


def unseeded(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Generators that nothing in the file seeds."""
    for _, node in source.standing_for(*sorted(CHANCE)):
        if not isinstance(source.parent(node), ast.Attribute):
            yield source.hit(_called(source, node))
    for _, node in source.standing_for(*sorted(SEEDED)):
        call = _called(source, node)
        if isinstance(call, ast.Call) and call.func is node:
            first = [*call.args, *(keyword.value for keyword in call.keywords)][:1]
            if not first or (isinstance(first[0], ast.Constant) and first[0].value is None):
                yield source.hit(call)


def parallel_work(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Threads, pools of threads, and data loaders with worker processes."""
    for _, node in source.standing_for(*sorted(BESIDE)):
        if not isinstance(source.parent(node), ast.Attribute):
            yield source.hit(_called(source, node))
    for _, node in source.standing_for("torch.utils.data.DataLoader"):
        call = _called(source, node)
        keywords = call.keywords if isinstance(call, ast.Call) and call.func is node else []
        workers = next((keyword.value for keyword in keywords if keyword.arg == "num_workers"), None)
        if workers is not None and not (isinstance(workers, ast.Constant) and workers.value == 0):
            yield source.hit(call)

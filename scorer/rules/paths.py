"""Which paths a call opens, writes, moves or deletes, and whether a path is below a directory."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator
from functools import lru_cache

from scorer.rules.applied import values
from scorer.rules.source import Source
from scorer.rules.texts import HOLE, UNKNOWN

# Full name -> places of the paths that it writes to; names of keywords are those of the standard library.
WRITERS: dict[str, tuple[int | str, ...]] = {
    **dict.fromkeys(("os.makedirs", "os.mkdir", "os.mkfifo", "os.mknod", "os.truncate", "os.chmod", "os.utime"), (0,
    "name", "path")),
    **dict.fromkeys(("os.remove", "os.unlink", "os.rmdir", "os.removedirs", "shutil.rmtree", "os.chdir",
    "os.chroot"), (0, "path")),
    **dict.fromkeys(("os.rename", "os.replace", "os.renames", "shutil.move"), (0, 1, "src", "dst")),
    **dict.fromkeys(("os.link", "os.symlink", "shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.copytree"),
    (1, "dst")),
    **dict.fromkeys(("shutil.copymode", "shutil.copystat"), (1, "dst")),
    **dict.fromkeys(("torch.save", "torch.jit.save", "torch.export.save", "safetensors.torch.save_file"), (1, "f",
    "filename", "path")),
    **dict.fromkeys(("numpy.save", "numpy.savez", "numpy.savez_compressed", "numpy.savetxt"), (0, "file", "fname")),
    **dict.fromkeys(("logging.FileHandler", "logging.handlers.RotatingFileHandler"), (0, "filename")),
    **dict.fromkeys(("logging.handlers.TimedRotatingFileHandler", "logging.handlers.WatchedFileHandler"), (0,
    "filename")),
    "logging.basicConfig": ("filename",),
    "torch.utils.tensorboard.SummaryWriter": (0, "log_dir"),
    "tensorboardX.SummaryWriter": (0, "logdir"),
    "sqlite3.connect": (0, "database"),
    **dict.fromkeys(("dbm.open", "shelve.open"), (0, "filename", "file")),
    "pyarrow.parquet.write_table": (1, "where"),
    "pyarrow.parquet.ParquetWriter": (0, "where"),
    "torch.distributed.checkpoint.save": ("checkpoint_id",),
    "torch.distributed.FileStore": (0,),
    "shutil.make_archive": (0, "base_name"),
}  # fmt: skip
# Functions that open by a mode: places of path and mode, and the mode where none is given.
OPENERS: dict[str, tuple[int, int, str]] = {
    **dict.fromkeys(("builtins.open", "codecs.open", "gzip.open", "bz2.open", "lzma.open", "gzip.GzipFile",
    "bz2.BZ2File"), (0, 1, "r")),
    **dict.fromkeys(("lzma.LZMAFile", "zipfile.ZipFile", "tarfile.open", "tarfile.TarFile", "io.FileIO"), (0, 1, "r")),
    "numpy.memmap": (0, 2, "r+"),
    "numpy.lib.format.open_memmap": (0, 1, "r+"),
}  # fmt: skip
READERS = {
    *("torch.load", "numpy.load", "numpy.fromfile", "numpy.loadtxt", "numpy.genfromtxt", "safetensors.torch.load_file"),
    *("torch.from_file", "pandas.read_csv", "pandas.read_parquet", "pyarrow.parquet.read_table", "torch.jit.load"),
    *("fileinput.input", "fileinput.FileInput", "linecache.getline", "linecache.getlines", "runpy.run_path"),
    *("logging.config.fileConfig", "configparser.ConfigParser.read", "configparser.RawConfigParser.read"),
    *("pyarrow.parquet.ParquetFile", "pyarrow.parquet.read_pandas", "safetensors.safe_open", "pandas.read_json"),
}
TEMPORARY = {
    *("tempfile.mkstemp", "tempfile.mkdtemp", "tempfile.mktemp", "tempfile.NamedTemporaryFile"),
    *("tempfile.TemporaryDirectory", "tempfile.TemporaryFile", "tempfile.SpooledTemporaryFile"),
}
# Methods of a path, where it is known to be one.
PATH_WRITES = {
    *("write_text", "write_bytes", "mkdir", "touch", "unlink", "rmdir", "chmod", "rename", "symlink_to", "hardlink_to"),
    "replace",
}
# Methods of anything that take a path to write to.
FILE_WRITES = {
    "tofile",
    "savefig",
    "to_csv",
    "to_parquet",
    "to_json",
    "to_pickle",
    "export_chrome_trace",
    "save_pretrained",
}
WRITING = set("wax+")


@lru_cache(maxsize=1)
def openings(source: Source) -> list[tuple[ast.Call, list[tuple[ast.expr, bool]]]]:
    """Every call that works on paths, in the order of the text; its paths, and whether it changes what is there."""
    found = [(call, list(opened(source, call))) for call in source.every(ast.Call)]
    return [(call, paths) for call, paths in found if paths]


def opened(source: Source, call: ast.Call) -> Iterator[tuple[ast.expr, bool]]:
    """(path, whether it is written to or changed) of each path that a call works on."""
    full = source.resolve(call.func)
    keywords = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    if full in WRITERS:
        for place in WRITERS[full]:
            if isinstance(place, int) and place < len(call.args):
                yield call.args[place], True
            elif isinstance(place, str) and place in keywords:
                yield keywords[place], True
        return
    if full in OPENERS:
        path_at, mode_at, usual = OPENERS[full]
        path = call.args[path_at] if len(call.args) > path_at else keywords.get("file") or keywords.get("filename")
        mode = call.args[mode_at] if len(call.args) > mode_at else keywords.get("mode")
        if path is not None:
            modes = source.texts(mode) if mode is not None else (usual,)
            yield path, any(WRITING & set(text) for text in modes)
        return
    if full == "os.open":
        flags = source.walk(call.args[1]) if len(call.args) > 1 else []
        names = {name for node in flags for name in source.names(node)}
        if call.args:
            yield (
                call.args[0],
                not names or any(name.startswith(("os.O_WR", "os.O_RDWR", "os.O_CREAT")) for name in names),
            )
        return
    if full in READERS and call.args:
        yield call.args[0], False
        return
    if full in TEMPORARY:
        if "dir" in keywords:
            yield keywords["dir"], True
        return
    if isinstance(call.func, ast.Attribute):
        method, base = call.func.attr, call.func.value
        if method == "read" and call.args and _parses(source, base):
            for path in source.elements(call.args[0]) or call.args[:1]:
                yield path, False
        elif method in ("read_text", "read_bytes"):
            yield base, False
        elif method == "open" and full is None:
            mode = call.args[0] if call.args else keywords.get("mode")
            yield base, mode is not None and any(WRITING & set(text) for text in source.texts(mode))
        elif method in PATH_WRITES and not (method == "replace" and len(call.args) != 1):
            yield base, True
            if method in ("rename", "replace") and call.args and source.texts(base) != UNKNOWN:
                yield call.args[0], True
        elif method in FILE_WRITES and call.args:
            yield call.args[0], True


def _parses(source: Source, node: ast.expr) -> bool:
    """Whether an object is a reader of settings: what `configparser.ConfigParser()` makes."""
    made = [value.func for value in values(source, node) if isinstance(value, ast.Call)]
    return any((source.resolve(maker) or "").startswith("configparser.") for maker in made)


def below(path: str, directory: str) -> bool:
    """Whether a path, of which parts may be unknown, is in a directory or is the directory itself."""
    name = posixpath.normpath(path) if path else "."
    return name == directory or name.startswith(f"{directory}/")


def outside(path: str, directory: str) -> bool:
    """Whether a path, as far as it is known, cannot be below a directory."""
    name = posixpath.normpath(path) if path else "."
    return not name.startswith(HOLE) and name != "/dev/null" and not below(path, directory)

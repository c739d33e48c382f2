"""The kit: the organiser's files, or the stand-in where the contest says so; checked, and its data built once.

    kit = ensure_kit(profile)                          # the profile's own kit
    kit = ensure_kit(profile, Path("~/contest-kit"))   # the organiser's: holds prepare.py, pinned by SHA-256

The kit is never edited. Its data lie outside every room: in the cache directory (SUBMISSION_PARITY_CACHE, or the
platform's own), or, for an organiser's kit, where NEURON_COMPETITION_R1_CACHE_DIR says that they already are. Two
processes that want the same data at once build it once.
"""

from __future__ import annotations

import ast
import contextlib
import fcntl
import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scorer.contest import Profile
from scorer.files import sha256_file
from scorer.room.receipts import Kit

STAND_IN = Path(__file__).resolve().parent.parent / "standins" / "kit"
SETUP_TIMEOUT_SECONDS = 3600.0  # an organiser's kit downloads its shards


class KitError(RuntimeError):
    """The kit cannot be used; the message names the file, what was expected and what to do."""


@dataclass(frozen=True)
class KitPaths:
    """Where the kit lies: `directory` goes on PYTHONPATH, `cache_dir` into NEURON_COMPETITION_R1_CACHE_DIR."""

    directory: Path
    cache_dir: Path
    record: Kit


def ensure_kit(profile: Profile, kit_dir: Path | None = None) -> KitPaths:
    """Check the kit, build its data where they are absent, and record every hash. Raises KitError."""
    directory = _choose(profile, kit_dir)
    prepare = directory / "prepare.py"
    if not prepare.is_file():
        raise KitError(f"{prepare}: no such file; point --kit at the directory that holds the organiser's prepare.py")
    digest = sha256_file(prepare)
    if profile.kit.sha256 is not None and digest != profile.kit.sha256:
        raise KitError(
            f"{prepare}: SHA-256 is {digest}, contest {profile.name} version {profile.version} expects "
            f"{profile.kit.sha256}; use the organiser's file unchanged, or a profile for this version of the kit"
        )
    missing = sorted(set(profile.kit.symbols) - _top_level_names(prepare))
    if missing:
        raise KitError(f"{prepare}: does not define {', '.join(missing)}, which contest {profile.name} needs")
    for name, value in profile.kit.constants.items():
        line, found = _literals(prepare).get(name, (0, value))
        if found != value:
            raise KitError(
                f"{prepare}:{line}: {name} is {found}, contest {profile.name} version {profile.version} says {value}; "
                "use a profile for this version of the kit"
            )
    stand_in = directory == STAND_IN
    named = os.environ.get("NEURON_COMPETITION_R1_CACHE_DIR")
    if named and not stand_in:
        cache_dir = Path(named).resolve()
        if not _has_files(cache_dir):
            raise KitError(
                f"{cache_dir}: NEURON_COMPETITION_R1_CACHE_DIR names it, yet it holds no file; run the setup"
            )
    else:
        cache_dir = cache_root().resolve() / "kits" / _data_key(digest)
        _build_once(prepare, cache_dir)
    hashes = _hash_files(cache_dir)
    if stand_in:
        _check_record(cache_dir, hashes)
    return KitPaths(directory, cache_dir, Kit(stand_in=stand_in, prepare_sha256=digest, data_sha256=hashes))


def cache_root() -> Path:
    """Where data that outlives a run is kept: SUBMISSION_PARITY_CACHE, or the platform's cache directory."""
    named = os.environ.get("SUBMISSION_PARITY_CACHE")
    if named:
        return Path(named)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "submission-parity"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "submission-parity"


def _choose(profile: Profile, kit_dir: Path | None) -> Path:
    if kit_dir is not None:
        return kit_dir.expanduser().resolve()
    if profile.kit.stand_in:
        return STAND_IN
    raise KitError(
        f"contest {profile.name} uses the organiser's kit, and none was named; "
        "give --kit DIR, where DIR holds prepare.py (it is never edited)"
    )


def _parse(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_bytes(), filename=str(path))
    except SyntaxError as error:
        raise KitError(f"{path}:{error.lineno}: not Python {platform.python_version()}: {error.msg}") from error


def _literals(path: Path) -> dict[str, tuple[int, object]]:
    """Top-level names that are assigned one literal, as name -> (line, value); computed ones are left out."""
    found: dict[str, tuple[int, object]] = {}
    for statement in _parse(path).body:
        if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or not isinstance(statement.value, ast.Constant):
            continue
        for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
            if isinstance(target, ast.Name):
                found[target.id] = (statement.lineno, statement.value.value)
    return found


def _top_level_names(path: Path) -> set[str]:
    """Names that a module defines or imports at its top level, also inside `if` and `try`; read, not run."""
    tree = _parse(path)
    names: set[str] = set()
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        pending.extend(ast.iter_child_nodes(node))
    return names


def _data_key(prepare_sha256: str) -> str:
    """Names the data by all that its bytes depend on: the kit, this Python, and the libraries that write them."""
    parts = [prepare_sha256, platform.python_implementation(), platform.python_version(), sys.base_prefix]
    parts += [f"{name} {importlib.metadata.version(name)}" for name in ("pyarrow", "tokenizers")]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return f"{prepare_sha256[:12]}-python{platform.python_version()}-{digest[:12]}"


def _build_once(prepare: Path, cache_dir: Path) -> None:
    """Run the kit's setup unless it has once succeeded; a setup that was cut short is run again, from nothing."""
    built = cache_dir.parent / f"{cache_dir.name}.built"
    with _lock(cache_dir.parent / f"{cache_dir.name}.lock"):
        if built.is_file() and cache_dir.is_dir():
            return
        if cache_dir.exists():
            shutil.rmtree(cache_dir)
        _run_setup(prepare, cache_dir)
        built.touch()


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold a lock file; the kernel frees it when the holder dies."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise KitError(
            f"{path.parent}: cannot be written ({error.strerror}); name a directory in SUBMISSION_PARITY_CACHE"
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _run_setup(prepare: Path, cache_dir: Path) -> None:
    """Run the kit's own `setup` with the data directory in its environment."""
    environment = dict(os.environ, NEURON_COMPETITION_R1_CACHE_DIR=str(cache_dir))
    for name in ("PYTHONPATH", "RANK", "LOCAL_RANK", "WORLD_SIZE"):
        environment.pop(name, None)
    try:
        done = subprocess.run(
            [sys.executable, str(prepare), "setup"],
            env=environment,
            cwd=cache_dir.parent,
            capture_output=True,
            text=True,
            timeout=SETUP_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise KitError(f"{prepare} setup: still running after {SETUP_TIMEOUT_SECONDS:.0f} s; run it by hand") from error
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        raise KitError(f"{prepare} setup: exit code {done.returncode}: {last}; free space or network may be missing")
    if not _has_files(cache_dir):
        raise KitError(f"{prepare} setup: exit code 0, yet {cache_dir} holds no file; run it by hand and look")


def _has_files(directory: Path) -> bool:
    return directory.is_dir() and any(path.is_file() for path in directory.rglob("*"))


def _hash_files(cache_dir: Path) -> dict[str, str]:
    """SHA-256 of every file of the data, by its relative path."""
    files = sorted(path for path in cache_dir.rglob("*") if path.is_file())
    return {path.relative_to(cache_dir).as_posix(): sha256_file(path) for path in files}


def _check_record(cache_dir: Path, hashes: dict[str, str]) -> None:
    """The stand-in's kit.json states every file's hash: data that were changed or cut short are refused."""
    record = cache_dir / "kit.json"
    try:
        stated: dict[str, str] = json.loads(record.read_text(encoding="utf-8"))["sha256"]
    except (OSError, ValueError, KeyError) as error:
        raise KitError(f"{record}: cannot be read ({error}); remove {cache_dir} and start again") from error
    for name, digest in stated.items():
        if hashes.get(name) != digest:
            found = hashes.get(name, "no file")
            raise KitError(
                f"{cache_dir / name}: SHA-256 is {found}, kit.json says {digest}; "
                f"remove {cache_dir} and start again, and the data are built anew"
            )

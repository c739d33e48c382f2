"""The kit: the organiser's files, or the stand-in where the contest says so; checked, and its data built once.

    kit = ensure_kit(profile)                          # the profile's own kit
    kit = ensure_kit(profile, Path("~/contest-kit"))   # the organiser's: holds its prepare.py, pinned by SHA-256

The organiser's kit is never edited; the stand-in states the constants of the profile, in a copy where they differ from
its own. The data lie outside every room: in the cache directory (SUBMISSION_PARITY_CACHE, or the platform's own), or,
for an organiser's kit, where its cache variable says that they already are. Two processes that want the same data at
once build it once.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from scorer.contest import Profile
from scorer.files import sha256_file, write_atomic
from scorer.room.kit_source import KitSource, KitSourceError
from scorer.room.receipts import Kit

STAND_IN = Path(__file__).resolve().parent.parent / "standins" / "kit"
SETUP_TIMEOUT_SECONDS = 3600.0  # an organiser's kit downloads its shards


class KitError(RuntimeError):
    """The kit cannot be used; the message names the file, what was expected and what to do."""


@dataclass(frozen=True)
class KitPaths:
    """Where the kit lies: `directory` goes on PYTHONPATH, `cache_dir` into the profile's `kit.cache_variable`."""

    directory: Path
    cache_dir: Path
    record: Kit

    def check_unchanged(self) -> None:
        """Raise KitError where a file of the kit or of its data is not what it was when the kit was checked."""
        for place, before, after in (
            (self.directory, self.record.files, _hash_kit(self.directory, self.cache_dir)),
            (self.cache_dir, self.record.data_sha256, _hash_files(self.cache_dir)),
        ):
            for what, names in (
                ("was changed", sorted(n for n in before.keys() & after.keys() if before[n] != after[n])),
                ("was removed", sorted(before.keys() - after.keys())),
                ("was added", sorted(after.keys() - before.keys())),
            ):
                if names:
                    raise KitError(
                        f"{place / names[0]}: {what} while the kit was in use ({len(names)} such files), so nothing "
                        "that was measured with it counts; restore the kit, find out who writes there, run again"
                    )

    def model_data(self, patterns: Sequence[str]) -> list[Path]:
        """Files of the data, relative, that a process with a submission's model may see (`kit.model_files`)."""
        return [Path(name) for name in self.record.data_sha256 if any(fnmatchcase(name, one) for one in patterns)]


def ensure_kit(profile: Profile, kit_dir: Path | None = None, sha256: str | None = None) -> KitPaths:
    """Check the kit, build its data where they are absent, and record every hash. Raises KitError.

    `sha256` is what its file must have beside what the profile says. Nothing of the kit runs before all is checked.
    """
    directory = _choose(profile, kit_dir)
    stand_in = kit_dir is None or directory == STAND_IN
    prepare = directory / profile.kit.file
    if not directory.is_dir():
        raise KitError(f"{directory}: no such directory; point --kit at the one that holds {prepare.name}")
    if not prepare.is_file():
        raise KitError(f"{prepare}: no such file; point --kit at the directory that holds the organiser's file")
    digest = sha256_file(prepare)
    _check_pins(profile, prepare, digest, sha256)
    _check_source(profile, prepare)
    variable = profile.kit.cache_variable
    named = os.environ.get(variable)
    if named and not stand_in:
        cache_dir = Path(named).resolve()
        if not _has_files(cache_dir):
            raise KitError(f"{cache_dir}: {variable} names it, yet it holds no file; run the setup")
    else:
        cache_dir = cache_root().resolve() / "kits" / _data_key(digest)
        _build_once(prepare, profile.kit.setup, {variable: str(cache_dir)}, cache_dir)
    kit = hashed(prepare, cache_dir, stand_in=stand_in)
    if stand_in:
        _check_record(cache_dir, kit.record.data_sha256)
    if kit.record.prepare_sha256 != digest:
        raise KitError(f"{prepare}: was changed while the kit was set up; restore the organiser's file and run again")
    return kit


def hashed(prepare: Path, cache_dir: Path, *, stand_in: bool) -> KitPaths:
    """A kit and its data as they lie there, unchecked."""
    files = _hash_kit(prepare.parent, cache_dir)
    data = _hash_files(cache_dir)
    record = Kit(stand_in=stand_in, prepare_sha256=files[prepare.name], data_sha256=data, files=files)
    return KitPaths(prepare.parent, cache_dir, record)


def _check_pins(profile: Profile, prepare: Path, digest: str, sha256: str | None) -> None:
    """The hashes that the command line and the profile pin."""
    contest = f"contest {profile.name} version {profile.version}"
    if sha256 is not None and not re.fullmatch("[0-9a-f]{64}", sha256.lower()):
        raise KitError(f"--kit-sha256 {sha256}: expected the 64 hexadecimal digits of a SHA-256; correct it")
    for who, expected in (
        ("--kit-sha256", None if sha256 is None else sha256.lower()),
        (contest, profile.kit.sha256),
    ):
        if expected is not None and digest != expected:
            raise KitError(
                f"{prepare}: SHA-256 is {digest}, {who} expects {expected}; use the organiser's file "
                "unchanged, or a profile for this version of the kit"
            )
    for name, expected in profile.kit.files.items():
        file = prepare.parent / name
        found = sha256_file(file) if file.is_file() else "no file"
        if found != expected:
            raise KitError(
                f"{file}: SHA-256 is {found}, {contest} expects {expected}; copy the organiser's whole "
                "directory, unchanged"
            )


def _check_source(profile: Profile, prepare: Path) -> None:
    """Symbols, signatures and constants, as far as the source shows them."""
    contest = f"contest {profile.name} version {profile.version}"
    try:
        source = KitSource(prepare)
    except KitSourceError as error:
        raise KitError(f"{error}; use the organiser's file unchanged, with a Python that it is written for") from error
    missing = source.missing(profile.kit.symbols)
    if missing:
        raise KitError(
            f"{prepare}: does not define {', '.join(missing)}, which {contest} needs; use another version of it"
        )
    problems = source.uncallable(profile.kit.calls) + source.contradictions(profile.kit.constants)
    if problems:
        raise KitError("\n".join([*problems, f"  {contest} says otherwise; use a profile for this version of the kit"]))


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
        return _stating(profile)
    raise KitError(
        f"contest {profile.name} uses the organiser's kit, and none was named; "
        f"give --kit DIR, where DIR holds {profile.kit.file} (it is never edited)"
    )


def _stating(profile: Profile) -> Path:
    """The stand-in's directory; of a copy in the cache where the profile has other constants than its source."""
    file = STAND_IN / profile.kit.file
    try:
        changed = KitSource(file).stating(profile.kit.constants)
    except KitSourceError as error:
        raise KitError(str(error)) from error
    if changed is None:
        return STAND_IN
    copy = cache_root().resolve() / "kits" / f"stand-in-{hashlib.sha256(changed).hexdigest()[:12]}" / file.name
    if not copy.is_file() or copy.read_bytes() != changed:
        try:
            write_atomic(copy, changed)
        except OSError as error:
            raise KitError(
                f"{copy}: cannot be written ({error.strerror}); name a directory in SUBMISSION_PARITY_CACHE"
            ) from error
    return copy.parent


def _data_key(prepare_sha256: str) -> str:
    """Names the data by all that its bytes depend on: the kit, this Python, and the libraries that write them."""
    parts = [prepare_sha256, platform.python_implementation(), platform.python_version(), sys.base_prefix]
    parts += [f"{name} {importlib.metadata.version(name)}" for name in ("pyarrow", "tokenizers")]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return f"{prepare_sha256[:12]}-python{platform.python_version()}-{digest[:12]}"


def _build_once(prepare: Path, setup: Sequence[str], variables: Mapping[str, str], cache_dir: Path) -> None:
    """Run the kit's setup unless it has once succeeded with these files; one that was cut short starts from nothing.

    The mark of success holds the hashes of the files beside the kit's as the setup left them.
    """
    built = cache_dir.parent / f"{cache_dir.name}.built"
    with _lock(cache_dir.parent / f"{cache_dir.name}.lock"):
        files = json.dumps(_hash_kit(prepare.parent, cache_dir), sort_keys=True)
        if built.is_file() and built.read_text("utf-8") == files and cache_dir.is_dir():
            return
        built.unlink(missing_ok=True)
        if cache_dir.exists():
            shutil.rmtree(cache_dir)
        _run_setup(prepare, setup, variables, cache_dir)
        built.write_text(json.dumps(_hash_kit(prepare.parent, cache_dir), sort_keys=True), "utf-8")


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


def _run_setup(prepare: Path, setup: Sequence[str], variables: Mapping[str, str], cache_dir: Path) -> None:
    """Run the kit's own setup with the data directory in its environment."""
    environment = {**os.environ, **variables, "PYTHONDONTWRITEBYTECODE": "1"}
    command = " ".join([str(prepare), *setup])
    for name in ("PYTHONPATH", "RANK", "LOCAL_RANK", "WORLD_SIZE"):
        environment.pop(name, None)
    try:
        done = subprocess.run(
            [sys.executable, str(prepare), *setup],
            env=environment,
            cwd=cache_dir.parent,
            capture_output=True,
            text=True,
            timeout=SETUP_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise KitError(f"{command}: still running after {SETUP_TIMEOUT_SECONDS:.0f} s; run it by hand") from error
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        raise KitError(f"{command}: exit code {done.returncode}: {last}; free space or network may be missing")
    if not _has_files(cache_dir):
        raise KitError(f"{command}: exit code 0, yet {cache_dir} holds no file; run it by hand and look")


def _has_files(directory: Path) -> bool:
    return directory.is_dir() and any(path.is_file() for path in directory.rglob("*"))


def _hash_kit(directory: Path, cache_dir: Path) -> dict[str, str]:
    """SHA-256 of the kit's file and of every file beside it, by relative path; data that lie there too are left out."""
    files = sorted(path for path in directory.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {
        path.relative_to(directory).as_posix(): sha256_file(path)
        for path in files
        if not path.is_relative_to(cache_dir)
    }


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

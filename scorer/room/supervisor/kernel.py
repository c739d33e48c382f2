"""Linux system calls that the standard library does not have; each raises OSError with what was attempted."""

from __future__ import annotations

import ctypes
import os
import struct

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_NOSUID, MS_NODEV, MS_NOEXEC = 0x2, 0x4, 0x8
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4

_AT_FDCWD, _AT_EMPTY_PATH, _AT_RECURSIVE = -100, 0x1000, 0x8000
_OPEN_TREE_CLONE = 1
_MOVE_MOUNT_F_EMPTY_PATH = 4
_MOUNT_ATTR_RDONLY = 1
# The same numbers on every architecture: these calls are younger than the common table.
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def unshare(flags: int, what: str) -> None:
    """Leave the namespaces that `flags` name for new ones."""
    _check(_libc.unshare(flags), what)


def prctl(option: int, *arguments: int) -> None:
    """Set something of this process."""
    words = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    _check(_libc.prctl(option, *words), f"prctl {option}")


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """mount(2)."""
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    result = _libc.mount(*encoded, ctypes.c_ulong(flags), options.encode() or None)
    _check(result, f"mount {kind or 'bind'} on {target}")


def open_tree(path: str) -> int:
    """A detached copy of the mounts at and below `path` (a directory or a file), as a descriptor."""
    flags = _OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_RECURSIVE
    return _check(_libc.syscall(_OPEN_TREE, _AT_FDCWD, os.fsencode(path), flags), f"open_tree {path}")


def move_mount(tree: int, target: str) -> None:
    """Put a detached copy in the place of `target`; the descriptor is closed."""
    try:
        arguments = (tree, b"", _AT_FDCWD, os.fsencode(target), _MOVE_MOUNT_F_EMPTY_PATH)
        _check(_libc.syscall(_MOVE_MOUNT, *arguments), f"move_mount to {target}")
    finally:
        os.close(tree)


def set_read_only(place: str | int, read_only: bool, *, recursive: bool) -> None:
    """Make a mount (its path, or the descriptor of a detached copy) read-only or writable."""
    attributes = struct.pack(
        "QQQQ", _MOUNT_ATTR_RDONLY if read_only else 0, 0 if read_only else _MOUNT_ATTR_RDONLY, 0, 0
    )
    directory, path = (place, b"") if isinstance(place, int) else (_AT_FDCWD, os.fsencode(place))
    flags = (_AT_RECURSIVE if recursive else 0) | (_AT_EMPTY_PATH if isinstance(place, int) else 0)
    result = _libc.syscall(_MOUNT_SETATTR, directory, path, flags, attributes, len(attributes))
    _check(result, f"mount_setattr {place}")


def drop_capabilities() -> None:
    """Empty this process's sets of capabilities."""
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    _check(_libc.capset(header, bytes(24)), "capset")

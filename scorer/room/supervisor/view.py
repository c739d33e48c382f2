"""The file system as the room's command sees it.

Everything is read-only but the room's own directories; home directories, other rooms, the scorer's sources and what
else is `hidden` are empty, but for what the command needs of them (`visible`: interpreter, kit, data). /tmp and
/dev/shm are the room's own. Devices stay as they are, block devices and terminals apart: what the user id may open
works (an accelerator's /dev/neuron0), what would reach the disk or the user's screen does not.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from scorer.room.supervisor import kernel

_PRIVATE = kernel.MS_NOSUID | kernel.MS_NODEV
_PROC_READ_ONLY = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi")  # root owns switches of the kernel there
MOST_LINKS = 40  # that the kernel follows, too
_EMPTY_IN_DEV = ("pts", "mqueue")


@dataclass(frozen=True)
class View:
    """Absolute paths. What does not exist is passed over; a path both hidden and visible is visible."""

    work: str  # the command's working directory
    writable: list[str]
    read_only: list[str]  # files and directories inside `writable` that are not to be changed
    visible: list[str]
    hidden: list[str]
    secret: list[str]  # hidden even where a part of it is visible
    private: dict[str, int]  # directories that become empty memory file systems -> their size in bytes

    def arrange(self) -> None:
        """Change this process's mount namespace; raises OSError where the kernel permits no part of it."""
        kernel.set_read_only("/", True, recursive=True)
        writable = {real for path in self.writable for _, real in [_resolve(path)]}
        shown, links = self._shown(writable)
        masks = self._masks(shown)
        private = {os.path.realpath(place): size for place, size in self.private.items()}
        trees = {path: kernel.open_tree(path) for path in sorted(shown)}
        for mask in masks:
            size = private.get(mask, 1 << 20)
            mode = "1777" if mask in private else "755"
            kernel.mount("tmpfs", mask, "tmpfs", _PRIVATE, f"size={size},mode={mode}")
        for path in sorted(links):
            if _below(path, masks) and not os.path.lexists(path):
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                os.symlink(links[path], path)  # noqa: PTH211
        for path, tree in trees.items():
            if _below(path, masks):
                _make_place(path, tree)
                kernel.move_mount(tree, path)
            else:
                os.close(tree)
        for mask in masks:
            if mask not in private:
                kernel.set_read_only(mask, True, recursive=False)
        for path in self.secret:
            if Path(path).is_dir():
                kernel.mount("tmpfs", os.path.realpath(path), "tmpfs", _PRIVATE, "size=4k,mode=755")
                kernel.set_read_only(os.path.realpath(path), True, recursive=False)
        for path in sorted(writable):
            _rebind(path, read_only=False)
        for path in self.read_only:
            if os.path.lexists(path):
                _rebind(os.path.realpath(path), read_only=True)
        _clear_devices()
        os.chdir(self.work)

    def _shown(self, writable: set[str]) -> tuple[set[str], dict[str, str]]:
        """Real paths that must stay visible, none below another, and the symbolic links on the way to them."""
        real_paths, links = set(writable), {}
        for path in self.visible:
            if os.path.lexists(path):
                on_the_way, real = _resolve(path)
                links.update(on_the_way)
                if Path(real).exists():
                    real_paths.add(real)
        return {path for path in real_paths if not _below(path, real_paths - {path})}, links

    def _masks(self, shown: set[str]) -> list[str]:
        """Real directories to be hidden or replaced, the outer ones first; none that is wholly visible."""
        wanted = {os.path.realpath(path) for path in (*self.hidden, *self.private) if Path(path).is_dir()}
        return sorted(
            path
            for path in wanted
            if path != "/" and path not in shown and not _below(path, shown) and not _below(path, wanted - {path})
        )


def mount_proc() -> None:
    """A /proc of the process namespace; what it offers of the kernel's switches cannot be written."""
    kernel.mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    for name in _PROC_READ_ONLY:
        if os.path.lexists(f"/proc/{name}"):
            kernel.mount(f"/proc/{name}", f"/proc/{name}", None, kernel.MS_BIND | kernel.MS_REC)
            kernel.set_read_only(f"/proc/{name}", True, recursive=True)


def _clear_devices() -> None:
    """Hide the disks and the terminals among the devices."""
    for name in _EMPTY_IN_DEV:
        if Path(f"/dev/{name}").is_dir():
            kernel.mount("tmpfs", f"/dev/{name}", "tmpfs", _PRIVATE, "size=4k,mode=755")
            kernel.set_read_only(f"/dev/{name}", True, recursive=False)
    for directory, _, names in os.walk("/dev"):
        for name in names:
            path = f"{directory}/{name}"
            if stat.S_ISBLK(os.lstat(path).st_mode):
                kernel.mount("/dev/null", path, None, kernel.MS_BIND)


def _rebind(path: str, *, read_only: bool) -> None:
    """Put a path over itself, writable or not."""
    tree = kernel.open_tree(path)
    kernel.set_read_only(tree, read_only, recursive=True)
    kernel.move_mount(tree, path)


def _make_place(path: str, tree: int) -> None:
    """An empty directory or file to mount a copy on."""
    if stat.S_ISDIR(os.fstat(tree).st_mode):
        Path(path).mkdir(parents=True, exist_ok=True)
    else:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).touch()


def _resolve(path: str) -> tuple[dict[str, str], str]:
    """The symbolic links that a path goes through (link -> what it says), and the path without them."""
    links: dict[str, str] = {}
    done, rest = Path("/"), [part for part in path.split("/") if part]
    while rest and len(links) < MOST_LINKS:
        part = rest.pop(0)
        here = done.parent if part == ".." else done / part
        if part == ".." or not here.is_symlink():
            done = here
            continue
        target = links[str(here)] = str(here.readlink())
        done = Path("/") if target.startswith("/") else done
        rest = [word for word in target.split("/") if word not in ("", ".")] + rest
    return links, str(done.joinpath(*rest))


def _below(path: str, places: set[str] | list[str]) -> bool:
    """Whether a path lies inside one of the places."""
    return any(path != place and path.startswith(f"{place.rstrip('/')}/") for place in places)

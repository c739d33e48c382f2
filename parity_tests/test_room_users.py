"""The clean room works for root and for any other user alike."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOBODY = 65534

# In a mount namespace of its own: what the interpreter lies in becomes readable for everybody, then nobody runs it.
AS_NOBODY = """
import os, sys
sys.path.insert(0, {root!r})
from scorer.room.supervisor import kernel
kernel.unshare(kernel.CLONE_NEWNS, "unshare")
kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
needed = {needed!r}
trees = {{place: kernel.open_tree(place) for place in needed}}
for home in {homes!r}:
    kernel.mount("tmpfs", home, "tmpfs", 0, "mode=755")
for place, tree in trees.items():
    if any(place.startswith(home + "/") for home in {homes!r}):
        os.makedirs(place, exist_ok=True)
        kernel.move_mount(tree, place)
os.mkdir({work!r} + "/home")
os.chown({work!r} + "/home", {user}, {user})
os.setgroups([])
os.setgid({user})
os.setuid({user})
home = {work!r} + "/home"
environment = {{"PATH": os.environ["PATH"], "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8"}}
os.chdir({root!r})
os.execve({python!r}, [{python!r}, "-m", "pytest", "-q", "-p", "no:cacheprovider", *{words!r}], environment)
"""

CHOSEN = (
    "each_protection", "without_any", "homes_other", "secret", "cannot_be_changed", "cannot_be_seen", "exit_code",
    "two_rooms_at_once", "outlives", "no_privilege", "loopback", "own_user", "ways_out",
)  # fmt: skip
FILES = ["parity_tests/test_room_protections.py", "parity_tests/test_room_cleanroom.py"]
TESTS = [*FILES, "-k", " or ".join(CHOSEN)]


@pytest.mark.long
def test_the_tests_of_the_room_pass_as_nobody(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("the other tests run as an ordinary user already; only root can become another one")
    homes = [home for home in ("/root",) if Path(sys.base_prefix).is_relative_to(home)]
    needed = [sys.base_prefix, sys.prefix, str(ROOT)]
    work = Path("/tmp") / f"as-nobody-{os.getpid()}"
    work.mkdir(mode=0o755)
    script = AS_NOBODY.format(
        root=str(ROOT), needed=needed, homes=homes, work=str(work), user=NOBODY, python=sys.executable, words=TESTS
    )
    try:
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=300, cwd=ROOT
        )
    finally:
        subprocess.run(["rm", "-rf", str(work)], check=True)
    if "unshare" in done.stderr and "OSError" in done.stderr:
        pytest.skip(f"the interpreter cannot be shown to another user: {done.stderr.strip().splitlines()[-1]}")
    if "Permission denied" in done.stderr and "pytest" not in done.stdout:
        pytest.skip(f"another user cannot read the interpreter: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "." in done.stdout.split()[0]

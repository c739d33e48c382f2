"""Whether this interpreter has the real Neuron SDK, or needs the stand-in for it."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path

from scorer.contest import Profile

NEURON = Path(__file__).resolve().parent.parent / "standins" / "neuron"

# Finding a module is not enough: PyPI's placeholders are found, and raise when they are imported. A package that is
# there and broken is an error, not a reason to replace it.
_PROBE = """
import importlib.metadata, importlib.util
missing = [name for name in ("nki", "torch_neuronx") if importlib.util.find_spec(name) is None]
if missing:
    print("absent")
else:
    try:
        import nki, torch_neuronx
    except ImportError as error:
        versions = {name: importlib.metadata.version(name) for name in ("nki", "torch-neuronx")}
        placeholder = versions["nki"] == "0.0.1" or versions["torch-neuronx"] == "1.0"
        print("absent" if placeholder else f"broken {versions}: {error}")
    else:
        print("present")
"""


class SdkError(RuntimeError):
    """The Neuron SDK is installed but cannot be imported."""


@functools.cache
def stand_ins() -> tuple[Path, ...]:
    """Directories for PYTHONPATH: the stand-in nki and torch_neuronx, or nothing where the real ones can be imported.

    Raises SdkError when both are installed, are not PyPI's placeholders, and yet cannot be imported.
    """
    probe = subprocess.run(
        [sys.executable, "-I", "-c", _PROBE], capture_output=True, text=True, check=False, timeout=300
    )
    answer = probe.stdout.strip().splitlines()[-1:] or [f"broken: exit code {probe.returncode}"]
    if answer[0] == "present":
        return ()
    if answer[0] == "absent":
        return (NEURON,)
    raise SdkError(
        f"the Neuron SDK of {sys.executable} cannot be imported: {answer[0]}\n"
        "  repair it, or uninstall nki and torch-neuronx to run on the stand-in"
    )


def stand_in_variables(profile: Profile) -> dict[str, str]:
    """What tells the stand-in `nki` to refuse what the NKI of the contest's machine does not have, if that is known."""
    version = profile.machine.versions.get("nki")
    if version is None or not stand_ins():
        return {}
    return {"NKI_STAND_IN_VERSION": ".".join(version.split(".")[:2])}

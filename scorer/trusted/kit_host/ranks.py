"""One process per rank: a kit that adds up over ranks finds the variables and the process group that it expects.

    {"module": "prepare", "functions": {what: name}, "store": FILE, "channels": [fd, ...], "memory": fd}

A single rank runs here, without RANK and WORLD_SIZE, as the kit's command line does. Several are forked before the kit
is imported, since it may read the variables while it is, and after torch is, which takes longer than all the rest.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

from .serving import serve

Json = dict[str, Any]


def main(settings: Json) -> None:
    """Serve one rank, or a process for each, and end when all have ended."""
    channels: list[int] = settings["channels"]
    if len(channels) == 1:
        serve(settings["module"], settings["functions"], channels[0], settings["memory"], 0)
        return
    children = []
    for rank in range(len(channels)):
        child = os.fork()
        if child == 0:
            os._exit(run(settings, channels, rank))
        children.append(child)
    for channel in channels:  # the judge must see a rank's end at its own end of the channel
        os.close(channel)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    sys.exit(next((code for code in codes if code), 0))


def run(settings: Json, channels: list[int], rank: int) -> int:
    """One rank from its variables to its end; its exit code."""
    for other in channels:
        if other != channels[rank]:
            os.close(other)
    number, count = str(rank), str(len(channels))
    os.environ |= {"RANK": number, "LOCAL_RANK": number, "WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count}
    try:
        join(rank, len(channels), settings["store"])
        serve(settings["module"], settings["functions"], channels[rank], settings["memory"], rank)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def join(rank: int, world_size: int, store: str) -> None:
    """Make the process group that a launcher's program would have made."""
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world_size)

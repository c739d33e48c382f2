"""The process that is started: it makes the device known to torch, and forks a model process for each order.

No submission runs in it, and torch computes nothing in it: a fork of a process whose threads have worked would hang.
Nor can one look into it or change it, although it runs under the same user: what one fork learned would reach the next.
SETTINGS: {"orders": inherited socket of packets, "device", "device_module"}. Orders, one JSON object a packet:

    hello                                            versions, environment, which Neuron this is
    fork   settings; descriptors: see DESCRIPTORS    -> {"pid"}
    wait   pid, seconds                              -> {"code"}: exit code (negative: signal), null while it runs
    kill   pid                                       -> {}
    end
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import signal
import socket
import sys
import time
from typing import Any

import torch

Json = dict[str, Any]

DESCRIPTORS = ("channel", "events", "memory", "log")
LONGEST_ORDER = 1 << 17
PR_SET_DUMPABLE = 4


def main(settings: Json) -> None:
    """Serve orders until the last; in a fork, serve the commands of one model process instead, and return."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    orders = socket.socket(fileno=settings["orders"])
    neuron = "absent"
    if settings["device_module"] is not None:
        module = importlib.import_module(settings["device_module"])
        neuron = "stand-in" if "standins" in (module.__file__ or "") else "sdk"
    torch.empty(0, device=settings["device"])  # raises here where there is no such device
    while True:
        packet, descriptors, _, _ = socket.recv_fds(orders, LONGEST_ORDER, len(DESCRIPTORS))
        order: Json = json.loads(packet) if packet else {"op": "end"}
        operation = order["op"]
        if operation == "end":
            orders.close()
            return
        if operation == "fork":
            pid = os.fork()
            if pid == 0:
                orders.close()
                libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # a program may look at itself
                become(order["settings"], dict(zip(DESCRIPTORS, descriptors, strict=True)))
                return
            for descriptor in descriptors:
                os.close(descriptor)
            answer: Json = {"pid": pid}
        elif operation == "wait":
            answer = {"code": wait(order["pid"], order["seconds"])}
        elif operation == "kill":
            with contextlib.suppress(ProcessLookupError):
                os.kill(order["pid"], signal.SIGKILL)
            answer = {}
        else:
            answer = hello(neuron)
        orders.send(json.dumps(answer).encode())


def hello(neuron: str) -> Json:
    """What a receipt says of the process."""
    return {
        "python": sys.version.split()[0],
        "packages": {name: str(sys.modules[name].__version__) for name in ("numpy", "torch") if name in sys.modules},
        "neuron": neuron,
        "environment": dict(os.environ),
        "threads": torch.get_num_threads(),
    }


def wait(pid: int, seconds: float) -> int | None:
    """Exit code of a fork, None where it still runs after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(ChildProcessError):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found == pid:
                return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= deadline:
            return None
        time.sleep(0.005)


def become(settings: Json, descriptors: dict[str, int]) -> None:
    """Turn a fork into the model process of one submission, and see that through."""
    log = descriptors.pop("log")
    os.dup2(log, sys.stdout.fileno())
    os.dup2(log, sys.stderr.fileno())
    os.close(log)
    os.environ.update(settings["environment"])
    if settings["directory"] is not None:
        os.chdir(settings["directory"])
    from .serving import Host

    Host({**settings, **descriptors}).serve()

import datetime
import os
import platform
import socket
import time

import torch

started = time.time()
print(datetime.datetime.now(), socket.gethostname(), os.getpid(), platform.node())
name = datetime.datetime.now().strftime("%H:%M")
print(f"run of {name} on {socket.gethostname()}")
torch.manual_seed(1234)
while time.time() - started < 60.0:
    elapsed = time.perf_counter()
if time.monotonic() > started + 5:
    raise RuntimeError("too slow")
log = {"host": socket.gethostname(), "python": platform.python_version()}

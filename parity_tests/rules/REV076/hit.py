import datetime
import getpass
import os
import platform
import socket
import time

import torch

depth = 12
if datetime.date.today().day > 15:  # expect
    depth = 24
host = socket.gethostname()  # expect
if host.startswith("trn"):
    depth = 6
width = 64 if getpass.getuser() == "root" else 32  # expect
table = {"x86_64": 1}[platform.machine()]  # expect
while time.localtime().tm_hour < 3:  # expect
    pass
torch.manual_seed(os.getpid())  # expect
torch.manual_seed(int(time.time()))  # expect
seed = time.time_ns()  # expect
torch.Generator().manual_seed(seed)
inside = os.getcwd() == "/work"  # expect
fast = os.getuid() == 0 and depth  # expect
match platform.system():  # expect
    case "Linux":
        depth = 3

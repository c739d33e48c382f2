import asyncio
import concurrent.futures
import ctypes
import multiprocessing as mp
import os
import socket
import subprocess as sp
import urllib.request
from http.client import HTTPSConnection
from os import system as shell
from subprocess import check_output
from urllib.request import urlretrieve as fetch

import requests
import torch
import torch.multiprocessing
from torch.utils.cpp_extension import load_inline

sp.run(["ls"])  # expect
check_output(["ls"])  # expect
getattr(sp, "Popen")(["ls"])  # expect
shell("ls")  # expect
os.popen("ls")  # expect
os.posix_spawn("/bin/ls", [], {})  # expect
os.spawnvp(os.P_WAIT, "ls", [])  # expect
os.execlp("ls", "ls")  # expect
os.fork()  # expect
__import__("os").system("ls")  # expect
vars(os)["system"]("ls")  # expect
os.kill(1, 9)  # expect
socket.create_connection(("host", 80))  # expect
urllib.request.urlopen("http://host")  # expect
fetch("http://host", "x")  # expect
HTTPSConnection("host")  # expect
requests.get("http://host")  # expect
ctypes.CDLL(None)  # expect
ctypes.cast(0, ctypes.c_void_p)  # expect
load_inline("x", "y")  # expect
torch.ops.load_library("x.so")  # expect
mp.Process(target=print).start()  # expect
torch.multiprocessing.spawn(print)  # expect
concurrent.futures.ProcessPoolExecutor()  # expect
asyncio.create_subprocess_shell("ls")  # expect
commands = list(map(os.system, ["ls"]))  # expect


class Worker(mp.Process):  # expect
    pass


class Struct(ctypes.Structure):  # expect
    pass


socket.socket().connect(("host", 80))  # expect
from socket import socket as plug

plug()  # expect
torch.distributed.TCPStore("host", 1)  # expect

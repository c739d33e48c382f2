import ctypes
import os
import socket
import subprocess
from subprocess import run
from urllib.request import urlopen

subprocess.check_output(["ls"])  # expect
run(["ls"])  # expect
os.system("ls")  # expect
urlopen("http://localhost")  # expect
socket.create_connection(("localhost", 1))  # expect
ctypes.CDLL(None)  # expect

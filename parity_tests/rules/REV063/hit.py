import os
import sys
from os import write as put

put(3, b"0.7")  # expect
os.write(1, b"x")  # expect
os.fdopen(4, "w")  # expect
os.dup2(1, 2)  # expect
open(3, "wb")  # expect
open("/proc/self/fd/3", "w")  # expect
open("/dev/shm/logits", "r+b")  # expect
open("/proc/self/mem", "r+b")  # expect
getattr(os, "wr" + "ite")(3, b"x")  # expect
os.closerange(3, 100)  # expect
os.memfd_create("x")  # expect

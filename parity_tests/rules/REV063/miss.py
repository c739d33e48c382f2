import os
import sys

print("x", file=sys.stderr)
sys.stdout.flush()
sys.__stdout__.write("x")
with open("out/log.txt", "w") as file:
    file.write("x")
    os.fsync(file.fileno())
handle = os.open("out/final.tmp", os.O_WRONLY | os.O_CREAT)
os.write(handle, b"x")
os.close(handle)

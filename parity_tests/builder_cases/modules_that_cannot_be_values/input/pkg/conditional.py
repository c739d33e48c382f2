import os

if os.sep == "/":
    name = "posix"

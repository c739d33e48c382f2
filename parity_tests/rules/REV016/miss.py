import os
from pathlib import Path

text = Path("out/environ.txt")
name = os.path.basename("environ")
NOTE = "see the environment of the run: environ"
memory = open("/proc/meminfo").read()

import os
import os.path as p
from pathlib import Path
from os.path import expandvars as expand

depth = os.path.expandvars("$DEPTH")  # expect
width = expand("${WIDTH}")  # expect
limit = p.expandvars("$LIMIT")  # expect
raw = open("/proc/self/environ", "rb").read()  # expect
pid = os.getpid()
other = open(f"/proc/{pid}/environ").read()  # expect
joined = Path("/proc") / "self" / ("envi" + "ron")
text = joined.read_text()  # expect
words = Path("/proc/self/cmdline").read_bytes()  # expect

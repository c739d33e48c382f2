import os
from os import _exit as leave

os._exit(0)  # expect
leave(1)  # expect
os.abort()  # expect
getattr(os, "_ex" + "it")(0)  # expect

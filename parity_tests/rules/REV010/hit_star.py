from os import *

depth = environ["DEPTH"]  # expect
width = getenv("WIDTH")  # expect

import json  # expect
import os.path  # expect
from math import log, sqrt  # expect

print(sqrt(2))

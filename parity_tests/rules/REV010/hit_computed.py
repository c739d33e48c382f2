import os
import sys


def helper(name):  # called by others too, so nobody can tell what it reads
    return os.environ.get(name)  # expect


sys.displayhook = helper
value = os.getenv(sys.argv[1])  # expect
prefix = os.environ["NEURON_" + sys.argv[1]]  # expect
flag = sys.argv[1] in os.environ  # expect

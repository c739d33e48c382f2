import atexit
import gc
import inspect
import sys

atexit.register(print)  # expect
everything = gc.get_objects()  # expect
frame = sys._getframe(1)  # expect
stack = inspect.stack()  # expect

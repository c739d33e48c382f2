import gc
import inspect
import sys
import traceback
import weakref

gc.collect()
gc.freeze()
gc.disable()
sys.setrecursionlimit(5000)
print(sys.version, sys.byteorder, sys.maxsize)
signature = inspect.signature(print)
reference = weakref.ref(signature)
try:
    raise ValueError
except ValueError:
    traceback.print_exc()
    raise

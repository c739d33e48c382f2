import gc
import inspect

gc.collect()
gc.freeze()
gc.disable()
source = inspect.getsource(print)

import atexit
import gc
import inspect
import sys
import threading
import traceback
import weakref
from sys import _getframe as frame

frame(1)  # expect
getattr(sys, "_get" + "frame")()  # expect
sys._current_frames()  # expect
gc.get_objects()  # expect
gc.callbacks.append(print)  # expect
gc.get_referrers(frame)  # expect
inspect.stack()  # expect
inspect.trace()  # expect
sys.settrace(None)  # expect
sys.setprofile(None)  # expect
sys.addaudithook(print)  # expect
sys.monitoring.use_tool_id(1, "x")  # expect
threading.settrace(None)  # expect
weakref.finalize(frame, print)  # expect
traceback.extract_stack()  # expect
traceback.walk_stack(None)  # expect
atexit._run_exitfuncs()  # expect
register = atexit.register  # expect
register(print)  # expect
breakpoint()  # expect

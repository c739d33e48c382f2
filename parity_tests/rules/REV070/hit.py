import faulthandler
import signal
from signal import SIGALRM, alarm, signal as on

on(SIGALRM, print)  # expect
alarm(3)  # expect
signal.setitimer(signal.ITIMER_REAL, 1)  # expect
getattr(signal, "sig" + "nal")(14, print)  # expect
faulthandler.dump_traceback_later(60, exit=True)  # expect
signal.raise_signal(signal.SIGTERM)  # expect

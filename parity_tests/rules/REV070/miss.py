import faulthandler
import signal

faulthandler.enable()
name = signal.Signals(15).name


def process(signal):
    signal.alarm(3)
    return signal.signal

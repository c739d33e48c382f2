import platform

if platform.system() == "Windows":
    from ._windows import _lock
else:
    from ._posix import _lock


class Lock:
    def take(self):
        return _lock()

"""Imports of what not every platform has run where the program runs them, and not at the top of the file.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import platform
from functools import cache


# ==== pkg/_windows.py ====


@cache
def import_windows():
    """What pkg/_windows.py does when it is first imported."""
    global WinDLL, msvcrt
    from ctypes import WinDLL
    import msvcrt


def _lock():
    return WinDLL, msvcrt


# ==== pkg/_posix.py ====


def _posix_lock():
    return "posix"


# ==== pkg/__init__.py ====

if platform.system() == "Windows":
    import_windows()
    _pkg_lock = _lock
else:
    _pkg_lock = _posix_lock


class Lock:
    def take(self):
        return _pkg_lock()


# ==== pkg/train.py ====

_train_lock = "train"


def main():
    print(Lock().take(), _train_lock)


if __name__ == "__main__":
    main()

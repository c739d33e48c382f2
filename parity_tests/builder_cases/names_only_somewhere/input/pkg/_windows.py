from ctypes import WinDLL

import msvcrt


def _lock():
    return WinDLL, msvcrt

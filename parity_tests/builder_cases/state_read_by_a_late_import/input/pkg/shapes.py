from .model import STATE

WIDTH = STATE["width"]  # 3 in the package, 1 if it ran first
UNUSED = len(STATE)

import atexit


@atexit.register
def leave():
    print("left")


atexit.register(print, "leaving")

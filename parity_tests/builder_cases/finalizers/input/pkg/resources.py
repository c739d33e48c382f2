class Lock:
    def __del__(self):
        print("released")


lock = Lock()
lock = None
other = Lock()
del other

import atexit
from atexit import register as at_end


@atexit.register  # expect
def write():
    print("end")


@at_end  # expect
def write_too():
    print("end")

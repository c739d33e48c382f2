print("base")
VERSION = 1

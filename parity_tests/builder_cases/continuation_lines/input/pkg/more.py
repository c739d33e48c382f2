if True: x = 1; y = 2
class A: a = 1; b = 2

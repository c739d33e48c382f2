X = 1; Y = 2  # two
if X: Z = 3
def f(): return X + Z
"""loose text"""
W = 5; \
V = 6

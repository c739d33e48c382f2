"""Old style."""

EPS = 1

def norm(x):
	if x:
		return x + EPS, "a	b"
	return EPS
Δx = 1
ℌ = 5
H = H + 1


def fit(x):
    return x + Δx

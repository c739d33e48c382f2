KERNELS = {"none": 0}
NAMES = ["registry"]

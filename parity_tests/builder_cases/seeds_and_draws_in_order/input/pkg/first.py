import random

random.seed(1)
value = random.random()
unused = random.random()

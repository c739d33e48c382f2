import random

shuffled = [random.random() for _ in range(2)]
value = random.random()

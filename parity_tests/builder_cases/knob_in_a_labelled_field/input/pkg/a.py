norm = 1

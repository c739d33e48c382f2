norm = 2

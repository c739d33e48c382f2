ops = 3

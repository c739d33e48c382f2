step = 0

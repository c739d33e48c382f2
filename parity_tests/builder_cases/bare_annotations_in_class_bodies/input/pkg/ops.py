scale = 4

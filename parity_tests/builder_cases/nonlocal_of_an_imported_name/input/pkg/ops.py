count = 10

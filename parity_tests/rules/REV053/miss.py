flag = bool(1)
while True:
    if flag:
        break

if False:  # expect
    print(1)
elif 0:  # expect
    print(2)
while False:  # expect
    print(3)

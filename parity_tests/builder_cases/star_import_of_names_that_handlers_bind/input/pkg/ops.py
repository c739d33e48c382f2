LIMIT = 3
try:
    LIMIT = int("x")
except ValueError as error:
    print("kept", LIMIT)

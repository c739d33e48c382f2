import contextlib

try:
    outcome = 1 / 0
except ZeroDivisionError as error:
    outcome = str(error)
else:
    outcome = "fine"
finally:
    closed = True

with contextlib.nullcontext(4) as limit:
    limit += 1

total = 0
squares = []
for number in range(3):
    total += number
    squares.append(lambda: number)
squares = [square() for square in squares]

count = 3
while count:
    count -= 1
else:
    total += 100

temporary = total
total = temporary + 1
del temporary

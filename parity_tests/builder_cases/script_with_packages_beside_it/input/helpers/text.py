from helpers.numbers import twice

word = "a" * twice(2)

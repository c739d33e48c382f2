name = "other"
print(name)

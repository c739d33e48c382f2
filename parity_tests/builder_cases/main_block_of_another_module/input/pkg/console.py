def make():
    return "console's"

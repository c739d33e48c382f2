class GPT:
    pass


def build():
    return GPT()

class GPT:
    pass

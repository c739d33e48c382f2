WIDTH = 2


class GPT:
    width = WIDTH

from .fields import Field


class GPT:
    width = Field()
    depth = Field()

from .base import Layer, Traced


class Attention(Layer, causal=True):
    pass


class Flash(Attention):
    pass


class Block(Traced):
    pass

from .model import BASE, scale

WIDTH = BASE[0] + BASE[1]
KINDS = {"plain": scale}

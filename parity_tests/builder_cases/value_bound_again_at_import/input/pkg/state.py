width = 1
from .reader import early

width = 2

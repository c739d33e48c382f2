print("sub")
from .other import name

from .. import VERSION as top
from . import name, other

print("deep", other.name)

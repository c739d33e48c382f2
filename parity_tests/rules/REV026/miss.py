import importlib.metadata

print(importlib.metadata.version("torch"))

"""Values that a loop gives to a configuration."""


class Config:
    depth = 1
    width = 2


for name, value in zip(("depth", "width"), (3, 4), strict=True):
    setattr(Config, name, value)
for name, value in {"depth": 5}.items():
    setattr(Config, name, value)

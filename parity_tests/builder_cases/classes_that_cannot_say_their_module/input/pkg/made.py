def make(name: str) -> type:
    return type(name, (), {})

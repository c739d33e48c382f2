import os as _os

def flag(name, default=None, kind=str):
    raw = _os.environ.get(name)
    if raw is None:
        return default
    if kind is bool:
        return raw.lower() in ("1", "true")
    return kind(raw)


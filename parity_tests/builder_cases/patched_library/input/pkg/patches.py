import json

original = json.dumps


def patched(value):
    return f"patched {original(value)}"


def apply():
    json.dumps = patched


def undo():
    json.dumps = original

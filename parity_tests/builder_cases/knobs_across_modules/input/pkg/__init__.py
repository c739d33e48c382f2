from .env import flag
VERSION = flag("VERSION", "1")

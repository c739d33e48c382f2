"""A small GPT: `python -m gpt.train`."""

from .config import GPTConfig
from .model import GPT

__all__ = ["GPT", "GPTConfig"]
__version__ = "0.3.0"

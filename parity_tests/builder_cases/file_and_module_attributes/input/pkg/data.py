"""Text."""

from pathlib import Path

HERE = Path(__file__).parent
NAME = __name__
ABOUT = __doc__

"""`python -m scorer`."""

from scorer.cli import main

main(prog_name="scorer")

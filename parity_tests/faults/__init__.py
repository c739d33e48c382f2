"""Faults that happened to somebody, each a folder with the change that makes it and the finding it must raise."""

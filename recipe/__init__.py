"""The training recipe: what a person edits, and what the builder makes a submission of."""

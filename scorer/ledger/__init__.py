"""The ledger of uploads: what was uploaded when, how it scored, and what changed since.

A contest rations uploads, so each of them is worth a line that nothing can lose: `book` is the file, `records` what
stands in it, `rations` how many uploads a week has left, `changes` how an artifact differs from the last upload.
"""

from scorer.ledger.book import LedgerError, append, read
from scorer.ledger.changes import Changes, KnobChange, changes
from scorer.ledger.rations import Week, week
from scorer.ledger.records import Score, Upload, last_upload, of_artifact

__all__ = [
    "Changes",
    "KnobChange",
    "LedgerError",
    "Score",
    "Upload",
    "Week",
    "append",
    "changes",
    "last_upload",
    "of_artifact",
    "read",
    "week",
]

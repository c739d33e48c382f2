"""The parts of a report, one module each: what it shows, as plain values in display order, drawn from a case."""

from scorer.room.receipts import Lane

LANES = (Lane.LOCAL, Lane.ARTIFACT, Lane.TRUSTED, Lane.CONTROL, Lane.REHEARSAL)
"""Display order of lanes."""

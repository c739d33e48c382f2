"""How many uploads a week has left."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from scorer.contest import Profile
from scorer.ledger.records import Score, Upload, uploads


@dataclass(frozen=True)
class Week:
    """Uploads of one calendar week, Monday to Sunday; `allowed` is None where the profile states no ration."""

    monday: datetime.date
    made: int
    allowed: int | None

    def __str__(self) -> str:
        when = f"in the week of {self.monday.isoformat()}"
        if self.allowed is None:
            return f"{_count(self.made)} made {when}; the contest's profile states no ration"
        left = self.allowed - self.made
        over = f" ({-left} more than the contest allows)" if left < 0 else ""
        return f"{max(left, 0)} of {_count(self.allowed)} left {when}{over}"


def week(records: Sequence[Upload | Score], profile: Profile, date: datetime.date) -> Week:
    """The uploads to the contest in the week that a date is in, whatever their score."""
    monday = date - datetime.timedelta(days=date.weekday())
    days = (upload.date - monday for upload in uploads(records, profile.name))
    allowed = profile.facts.uploads_per_week if profile.facts else None
    return Week(monday, sum(0 <= passed.days < 7 for passed in days), allowed)


def _count(number: int) -> str:
    return f"{number} upload{'' if number == 1 else 's'}"

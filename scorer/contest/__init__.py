"""Contest profiles: the one loader of `scorer/contests/*.yaml`. Contest facts live there, never in code.

    profile = load("embedded")            # by name, or a path to a YAML file

Errors name the file, the line, the field, what was expected, what was found and what to do.

    schema.py       the fields and what each may hold
    consistency.py  fields that must go together
    reading.py      from the file to the profile, or to all that is wrong with it
"""

from scorer.contest.reading import CONTESTS, ProfileError, load, names
from scorer.contest.schema import (
    AllowedOffset,
    Budget,
    ClockScript,
    Combination,
    Effect,
    EnvironmentPolicy,
    EvaluationSettings,
    Files,
    Fingerprint,
    Hook,
    KitCall,
    KitRules,
    LaunchRules,
    LogRules,
    Profile,
    Purity,
    RoomLimits,
    Ruling,
    TrialRules,
)

__all__ = [
    "CONTESTS",
    "AllowedOffset",
    "Budget",
    "ClockScript",
    "Combination",
    "Effect",
    "EnvironmentPolicy",
    "EvaluationSettings",
    "Files",
    "Fingerprint",
    "Hook",
    "KitCall",
    "KitRules",
    "LaunchRules",
    "LogRules",
    "Profile",
    "ProfileError",
    "Purity",
    "RoomLimits",
    "Ruling",
    "TrialRules",
    "load",
    "names",
]

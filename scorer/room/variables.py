"""Environment variables of a submission's run, by the rulings of its contest: which it gets, and what it asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from scorer.contest import Profile
from scorer.findings import Severity, define
from scorer.room.receipts import Event, Site

REFUSED = define(
    "RUN016",
    title="The program read a variable that the contest refuses",
    why="What somebody exports would change what is scored without a change in the file.",
    remedy="Make the value a knob of the recipe's configuration, which the builder freezes, and drop the read.",
)
STRIPPED = define(
    "RUN017",
    title="The program read a variable that is removed before it starts",
    why="The read finds nothing on the scoring machine, whatever it finds on the author's.",
    remedy="Set the variable in the program before it is read, or drop the read.",
    severity=Severity.ADVICE,
)

MOST_NAMED = 5


def passed(variables: Mapping[str, str], profile: Profile) -> dict[str, str]:
    """The variables that a submission's program is started with."""
    return {name: value for name, value in variables.items() if profile.environment.ruling(name) == "allow"}


def reads(events: Iterable[Event], profile: Profile) -> Iterator[tuple[str, str, Site | None]]:
    """(code, message, site) for each line that read what the contest does not allow, in the order of the first read.

    What the program has set itself by then it may read: nobody else's value can be there.
    """
    own: set[str] = set()
    asked: dict[tuple[str, str, int], tuple[Site | None, list[str]]] = {}
    for event in events:
        if event.kind == "set-environment":
            own.add(event.detail)
        if event.kind != "read-environment" or event.detail in own:
            continue
        ruling = profile.environment.ruling(event.detail)
        if ruling != "allow":
            place = (event.site.file, event.site.line) if event.site else ("", 0)
            names = asked.setdefault((REFUSED if ruling == "refuse" else STRIPPED, *place), (event.site, []))[1]
            if event.detail not in names:
                names.append(event.detail)
    for (code, *_), (site, names) in asked.items():
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        told = ", ".join(names[:MOST_NAMED])
        what = "the contest refuses" if code == REFUSED else "are removed before the program starts"
        yield code, f"reads variables that {what}: {told}{more}", site

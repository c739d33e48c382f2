"""The race: every system of the recipe, and other trainers beside them, trained for the same time on the same data.

    __main__.py   the command line (`nox -s speedrun`)
    contest.py    the contest of a race: a profile with another budget
    entries.py    what races: artifacts built from configs, and files of other trainers
    runs.py       one run: its record, and how it is measured or found again
    race.py       all runs in turns, and what they say about each system
    shown.py      the table in the terminal
    negative.py   published negative results (negative.yaml), tried again by `scorer trial`
    page.py       the page with its plots (chart.py draws them)

Every run is a rehearsal in a clean room on the real clock, and its checkpoint is scored by the trusted scorer.
"""

"""Trials: one artifact run several times, each time under other circumstances, beside its recipe, or at other
numbers of ranks, and what that showed.

    result.py        what a trial says: a table, findings, a verdict
    differing.py     the first thing in which two runs of one artifact differ
    variables.py     hostile values for the variables that a program could react to (values in hostile.yaml)
    environment.py   the environment trial: those variables set, and taken away
    clock.py         the clock trial: the contest's whole budget on scripted clocks
    schedule.py      whether start-up time is counted as progress
    world.py         the world trial: the same updates at several numbers of ranks
    speed.py         the speed trial: recipe and artifact raced
    interval.py      how much slower, and how sure that is
    matching.py      which builds of two programs belong together, and in what they differ
    change.py        a change on trial: both programs in full, at equal time and at equal steps
    decision.py      what is made of that, by the profile's thresholds
    growth.py        where the time went that an update takes longer

A trial is given a way to run lanes and runs none itself.
"""

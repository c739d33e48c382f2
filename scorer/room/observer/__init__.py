"""The observer: runs inside each rank of an observed program, and writes what it saw to a journal.

`path/sitecustomize.py`, first on PYTHONPATH, calls `start()` before the program begins. The observer edits nothing of
the program: it rides on what the program uses anyway (the kit module, the nki module, torch's optimizer hooks, the
autograd entry point, torch.save, os.environ, audit hooks) and draws no random number. It imports nothing of the
scorer's, because it runs in the program's process, and torch only after the program has.

    settings.py   what the scorer asks for, as JSON named by SUBMISSION_PARITY_OBSERVE
    journal.py    one JSON line per fact, flushed at once, so that a killed rank still leaves its record
    program.py    which frames are the program's
    places.py     which files it may read and write
    session.py    what is known so far: updates, losses, hashes, launches
    firsts.py     what was used for the first time
    dealt.py      batches as another number of ranks would read them
    values.py     keeps the parameters' values
    accounts.py   what the kernels take
    turns.py      waits between updates, so that two programs can take turns
    imports.py    hooks torch, nki and the kit when the program imports them
    optimizers.py which optimizer holds and changes which parameter
    calls.py      every call of the first updates, with its line and a hash of its value
    origins.py    which line of the forward pass an operator of a backward pass belongs to
    flame.py      where the time of one update goes
    torch_hooks.py, graphs.py, kernels.py, kit.py, census.py, knobs.py, environment.py, audit.py, clock.py
                  one kind of facts each
"""

from __future__ import annotations


def start() -> None:
    """Begin to observe this process, unless it is a child of a rank that is observed already."""
    from . import audit, clock, environment, imports
    from .journal import Journal
    from .program import Program
    from .session import Session
    from .settings import Settings
    from .turns import Turns

    settings = Settings.read()
    journal = Journal.claim(settings)
    if journal is None:
        return
    program = Program(settings)
    turns = None if settings.turns_from is None else Turns(settings)
    session = Session(settings, journal, program, turns)
    session.begin()
    clock.install(settings, program, session, journal)
    environment.install(program, journal)
    audit.install(settings, program, journal)
    imports.install(settings, session)

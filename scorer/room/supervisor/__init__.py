"""What the first process of a clean room consists of. It runs below `enter.py`, with the standard library only.

kernel.py      the system calls that Python's standard library does not have
namespaces.py  which protections the kernel permits, and entering them
view.py        the file system as the room's command sees it
processes.py   what /proc tells of the processes in the room
limits.py      the bounds on what they use
privileges.py  giving up what a command needs none of
"""

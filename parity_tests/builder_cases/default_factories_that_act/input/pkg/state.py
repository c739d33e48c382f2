from dataclasses import dataclass, field

COUNT = []


def fresh():
    COUNT.append(1)
    return []


@dataclass
class Run:
    losses: list = field(default_factory=fresh)


@dataclass
class Plain:
    losses: list = field(default_factory=list)


spare = Run()
plain = Plain()  # makes an empty list, which nobody sees

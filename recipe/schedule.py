"""The clock that the contest charges, and what follows it: the learning rate and the size of the batch.

Start-up, from launch to the end of the last excluded update, is free up to an allowance; what exceeds it is charged.
From there to the end of the process every second is charged. Times are seconds of `time.monotonic()`, given by the
caller.
"""

from __future__ import annotations

from recipe.config import Config


class ChargedClock:
    """Tells how much of the time budget is spent, and when to stop."""

    def __init__(
        self,
        started: float,
        budget: float,
        allowance: float,
        excluded_updates: int,
        margin: float,
        reserve: float,
        save_factor: float,
        exit_seconds: float,
    ) -> None:
        """`started`: when main() began; `margin`: start-up before that; `reserve`: the least that is kept free for
        saving and exit. It becomes `save_factor` times a measured save and `exit_seconds` where that is more.
        """
        self.started = started
        self.budget = budget
        self.allowance = allowance
        self.excluded_updates = excluded_updates
        self.margin = margin
        self.reserve = reserve
        self.save_factor = save_factor
        self.exit_seconds = exit_seconds
        self.updates = 0
        self.start_up_end: float | None = None
        self.last_update_end = started
        self.last_update_seconds = 0.0

    def update_done(self, now: float) -> None:
        """Note the end of an update."""
        self.updates += 1
        self.last_update_seconds = now - self.last_update_end
        self.last_update_end = now
        if self.updates == self.excluded_updates:
            self.start_up_end = now

    def save_done(self, began: float, now: float) -> None:
        """Note a save between two updates: the last one will take as long, and is to fit into the reserve."""
        self.reserve = max(self.reserve, self.save_factor * (now - began) + self.exit_seconds)
        self.last_update_end = now

    def charged(self, now: float) -> float:
        """Seconds charged so far."""
        start_up_end = now if self.start_up_end is None else self.start_up_end
        excess = max(0.0, start_up_end - self.started + self.margin - self.allowance)
        return excess + now - start_up_end

    def remaining(self, now: float) -> float:
        """Seconds of the budget that are not charged yet; negative when it is overrun."""
        return self.budget - self.charged(now)

    def progress(self, now: float) -> float:
        """Share of the usable time that is spent, 0 to 1."""
        return min(1.0, self.charged(now) / (self.budget - self.reserve))

    def must_stop(self, now: float) -> bool:
        """Whether one more update, as long as the last one, would eat into the reserve."""
        if self.start_up_end is None:
            return self.remaining(now) < self.reserve  # free updates; the first ones are far slower than the rest
        return self.remaining(now) < self.last_update_seconds + self.reserve


def learning_rate_multiplier(config: Config, progress: float) -> float:
    """Linear warm-up, flat, linear cool-down over `progress` in 0 to 1."""
    warmup, start = config.warmup_fraction, config.warmup_start
    cooldown, end = config.cooldown_fraction, config.cooldown_end
    if progress < warmup:
        return start + (1.0 - start) * progress / warmup
    if progress > 1.0 - cooldown:
        return end + (1.0 - end) * (1.0 - progress) / cooldown
    return 1.0


def micro_batches_of(config: Config, progress: float) -> int:
    """Micro-batches of an update while the batch grows: linear over `progress`, from the first number to the last."""
    share = min(1.0, progress / config.batch_warmup_fraction)
    return config.batch_warmup_start + int((config.micro_batches - config.batch_warmup_start) * share)

"""Which call of the forward pass an operator of the backward pass belongs to.

Autograd numbers its nodes as the forward pass makes them.
"""

from __future__ import annotations

from typing import Any


class Origins:
    """Remembers something of each forward call, and gives it back while the backward of that call runs."""

    def __init__(self, torch: Any) -> None:
        self._nodes = torch._C
        self._made: dict[int, Any] = {}

    def number(self) -> int:
        """The number of the autograd node that was made last."""
        return int(self._nodes._autograd._get_sequence_nr()) - 1

    def note(self, what: Any) -> None:
        """An operator is called in a forward pass.

        Its node is the last one that was made. One that makes none finds an older operator's, which is noted by then.
        """
        self._made.setdefault(self.number(), what)

    def running(self) -> Any:
        """What was noted of the call whose backward runs now; None where that is not known."""
        node = self._nodes._current_autograd_node()
        return None if node is None else self._made.get(node._sequence_nr())

    def forget(self) -> None:
        """The update is over."""
        self._made = {}

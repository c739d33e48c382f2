"""What the kernels take: an account by the stand-in nki of the first launch of each kernel with each signature.

The launch itself is accounted, and computes what it computes without. Before it, the kernel runs on copies of its
arguments in other orders of its instructions: is it right in program order only?
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .hashing import specialization
from .session import Session

MOST_LINES = 12  # of a kernel's text, those that take longest


class Accounts:
    """Accounts launches and tells the journal: "account" for a first one, "accounted" for each."""

    def __init__(self, session: Session) -> None:
        from nki._account import accounting, limits
        from nki._recording import NotCheckedError
        from nki._schedule import OrderError, check_order

        self._session, self._accounting = session, accounting
        self._check_order, self._order_error, self._not_checked = check_order, OrderError, NotCheckedError
        self._known: set[str] = set()
        session.journal.write("account-limits", limits=limits())

    def launch(self, kernel: Any, args: Any, kwargs: Any, call: Callable[..., Any]) -> Any:
        """Run a launch, and tell of it."""
        signature = specialization(args, kwargs)
        name = f"{kernel.__name__}[{kernel.lnc}] {signature}"
        if name in self._known:
            result = call(kernel, *args, **kwargs)
        else:
            order = self._order(kernel, args, kwargs)
            with self._accounting() as accounts:
                result = call(kernel, *args, **kwargs)
            self._known.add(name)
            (account,) = accounts
            self._session.journal.write(
                "account",
                name=name,
                account={
                    **account.told(),
                    "signature": signature,
                    "order": order,
                    "site": self._site(kernel.func.__code__.co_filename, kernel.func.__code__.co_firstlineno),
                    "lines": [self._line(line) for line in account.lines()[:MOST_LINES]],
                },
            )
        with self._session.working():
            self._session.journal.write("accounted", name=name)
        return result

    def _order(self, kernel: Any, args: Any, kwargs: Any) -> dict[str, Any]:
        try:
            moved = self._check_order(kernel, *args, **kwargs)
        except self._not_checked as error:
            return {"outcome": "not checked", "told": str(error)}
        except self._order_error as error:
            pair = [
                {"instruction": node.name, "site": self._site(node.file, node.line)}
                for node in (error.first, error.second)
            ]
            return {"outcome": "differs", "told": error.how, "over": error.over, "exchanged": pair}
        return {"outcome": "same", "moved": moved}

    def _line(self, line: Any) -> dict[str, Any]:
        told = {name: getattr(line, name) for name in ("instruction", "engine", "count", "bytes", "microseconds")}
        return {**told, "site": self._site(line.file, line.line)}

    def _site(self, file: str, line: int) -> dict[str, Any] | None:
        relative = self._session.program.relative(file)
        return None if relative is None else {"file": relative, "line": line}

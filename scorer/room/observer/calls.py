"""The operator census: every operator, in the order of the calls, with dtypes, shapes, the line that called it, and a
hash of what it computed.

An operator of a backward pass belongs to the line of the forward pass whose gradient it computes (`origins.py`). On the
stand-in, instructions of kernels are counted and hashed like operators.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from .hashing import signature, tensor_hash
from .origins import Origins
from .program import Program

VALUE_CHARACTERS = 8
# What these give is memory that nothing was written to yet, or (c10d) a tensor that another thread still writes.
_WITHOUT_VALUE = ("aten::empty", "aten::new_empty", "aten::resize", "aten::set_", "c10d::", "_c10d_functional::")
_WRITTEN = ("dst", "reduce_res")  # parameters of nki.isa's instructions


class Followed:
    """Counts and follows what a torch dispatch mode sees between `begin` and `end`."""

    def __init__(self, torch: Any, program: Program, session: Any) -> None:
        from torch.utils._python_dispatch import TorchDispatchMode

        followed = self

        class Follower(TorchDispatchMode):  # type: ignore[no-untyped-call]
            @classmethod
            def ignore_compile_internals(cls) -> bool:  # else torch would compile nothing while operators are seen
                return True

            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                kwargs = kwargs or {}
                if session.busy:
                    return func(*args, **kwargs)
                words = signature([*args, *kwargs.values()])  # before: an operator may change a shape in place
                result = func(*args, **kwargs)
                with session.working():
                    followed.note(
                        func._schema.name, words, sys._getframe(1), followed.value(func, result, args, kwargs)
                    )
                return result

        self._torch, self._program, self._session = torch, program, session
        self._origins = Origins(torch)  # the lines of the forward pass
        self._kinds: dict[tuple[str, str, str], tuple[int, dict[str, Any] | None]] = {}
        self._calls: list[str] = []
        self._counts: dict[tuple[str, str], list[Any]] = {}
        self._mode: Any = Follower()  # type: ignore[no-untyped-call]

    def begin(self) -> None:
        """Start counting, in this thread and in autograd's."""
        self._mode.__enter__()

    def end(self) -> None:
        """Stop."""
        self._mode.__exit__(None, None, None)

    def take(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """What was counted since the last call: rows sorted by operator and signature; the calls in their order."""
        rows = [
            {"operator": operator, "signature": words, "count": count, "site": place, "first": first}
            for first, ((operator, words), (count, place)) in enumerate(self._counts.items())
        ]
        kinds = [
            {"operator": operator, "signature": words, "site": place}
            for (operator, words, _), (_, place) in self._kinds.items()
        ]
        calls = self._calls
        self._counts, self._kinds, self._calls = {}, {}, []
        self._origins.forget()
        return sorted(rows, key=lambda row: (row["operator"], row["signature"])), {"kinds": kinds, "calls": calls}

    def note(self, operator: str, words: str, frame: FrameType | None, value: str) -> None:
        """Count one call, made from `frame`."""
        place = self._place(frame)
        counted = self._counts.setdefault((operator, words), [0, place])
        counted[0] += 1
        kind = self._kinds.setdefault((operator, words, str(place)), (len(self._kinds), place))
        self._calls.append(f"{kind[0]} {value}".rstrip())

    def value(self, func: Any, result: Any, args: Any, kwargs: Any) -> str:
        """A hash of what an operator computed; empty where it computed nothing, as a view."""
        schema = func._schema
        if schema.name.startswith(_WITHOUT_VALUE):
            return ""
        returns = result if isinstance(result, list | tuple) else [result]
        aliases = [one.alias_info for one in schema.returns]
        if aliases and all(alias is not None and not alias.is_write for alias in aliases):
            return ""
        written: list[Any] = []
        if not aliases:  # what it changes are its arguments
            given = [*args, *(kwargs.get(one.name) for one in schema.arguments[len(args) :])]
            marked = zip(schema.arguments, given, strict=False)
            written = [value for one, value in marked if one.alias_info is not None and one.alias_info.is_write]
        return self._hash([*returns, *written])

    @contextmanager
    def instructions(self, codes: dict[Any, str]) -> Iterator[None]:
        """Follow the instructions of a kernel that runs meanwhile. `codes`: of the functions that are instructions.

        By the interpreter's profiling hook and not by other functions in their place: the stand-in reads tracebacks.
        """
        if sys.getprofile() is not None:  # the program's own
            yield
            return
        sys.setprofile(self._instruction_end(codes))
        try:
            yield
        finally:
            sys.setprofile(None)

    def _instruction_end(self, codes: dict[Any, str]) -> Callable[[FrameType, str, Any], None]:
        def ended(frame: FrameType, event: str, result: Any) -> None:
            name = codes.get(frame.f_code) if event == "return" and result is not None else None
            if name is not None:
                given = frame.f_locals
                words = signature([value for key, value in given.items() if key in _operands(frame)])
                digest = hashlib.blake2b(digest_size=VALUE_CHARACTERS // 2)
                for key in _WRITTEN:
                    if (tensor := given.get(key)) is not None:
                        digest.update(tensor._values_now().tobytes())
                self.note(f"nki.isa::{name}", words, frame.f_back, digest.hexdigest())

        return ended

    def _place(self, frame: FrameType | None) -> dict[str, Any] | None:
        """The line of the program that an operator belongs to."""
        own = self._program.frame(frame)
        if not self._session.in_backward:
            place = self._program.site(own)
            self._origins.note(place)
            return place
        if own is not None and own is not self._session.backward_frame:
            return self._program.site(own)  # the program's own backward function, or a hook
        return self._origins.running() or self._program.site(self._session.backward_frame)

    def _hash(self, values: Any) -> str:
        digest = hashlib.blake2b(digest_size=VALUE_CHARACTERS // 2)
        for value in values:
            if isinstance(value, list | tuple):
                digest.update(self._hash(value).encode())
            elif isinstance(value, self._torch.Tensor) and _has_bytes(self._torch, value):
                digest.update(tensor_hash(self._torch, value).encode())
            elif isinstance(value, bool | int | float):
                digest.update(repr(value).encode())
        return digest.hexdigest()


def _operands(frame: FrameType) -> tuple[str, ...]:
    """Names of the parameters of the function that runs in a frame."""
    code = frame.f_code
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _has_bytes(torch: Any, tensor: Any) -> bool:
    return tensor.layout is torch.strided and not (tensor.is_meta or tensor.is_quantized or tensor.is_nested)

"""nki.typing: annotations of kernel parameters. They are not checked; the shape of an argument is the caller's."""

from __future__ import annotations

from ._tensor import NkiTensor


class tensor:  # noqa: N801 (NKI's spelling)
    """A tensor in an annotation, `tensor` or `tensor[128, 512]`."""

    def __class_getitem__(cls, shape: object) -> type[tensor]:
        return cls


class mutable_tensor(tensor):  # noqa: N801
    """A tensor that the kernel writes in place, in an annotation."""


Tensor = NkiTensor

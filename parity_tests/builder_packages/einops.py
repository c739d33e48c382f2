"""Rearranges, reduces, repeats, packs and sums arrays and tensors; layers by their names."""

import numpy as np
import torch

import einops
from einops import asnumpy, einsum, pack, parse_shape, rearrange, reduce, repeat, unpack
from einops._backends import get_backend


def main() -> None:
    x = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    print(
        rearrange(x, "b c h w -> b h w c").shape,
        rearrange(x, "b c (h h1) w -> (b h) c h1 w", h1=2).sum(axis=0).tolist(),
    )
    print(rearrange([x[0], x[1]], "b c h w -> c b (h w)").shape, rearrange(x, "b ... -> ... b").shape)
    for operation in ("min", "max", "sum", "mean", "prod"):
        print(operation, reduce(x.astype(float), "b c (h 2) w -> b h", operation).tolist())
    print(repeat(np.arange(3), "a -> b a 2", b=2).tolist(), parse_shape(x, "b _ h w"))
    print(einsum(x, x, "b c h w, b c h w -> b c").tolist())
    packed, shapes = pack([x, x[0]], "* h w")
    print(packed.shape, shapes, [item.shape for item in unpack(packed, shapes, "* h w")])
    print(asnumpy(x) is x, einops.EinopsError.__name__)
    for pattern in ("a b -> a", "b c h w -> b c h", "b c h w -> (b", "b b h w -> b h w", "b c h w -> b c h w q"):
        try:
            print(rearrange(x, pattern).shape)
        except einops.EinopsError as error:
            print(error)
    backend = get_backend(torch.ones(1))
    layers = backend.layers()
    print(backend.framework_name, layers is get_backend(torch.ones(2)).layers(), layers.__name__, type(layers).__name__)
    tensor = torch.arange(24.0).reshape(2, 3, 4)
    print(rearrange(tensor, "a b c -> c (a b)").tolist(), reduce(tensor, "a b c -> a", "mean").tolist())
    for name, arguments in (("Rearrange", ("a b c -> a (b c)",)), ("Reduce", ("a b c -> a b", "max")), ("Missing", ())):
        try:
            print(getattr(layers, name)(*arguments)(tensor).tolist())
        except AttributeError as error:
            print(error)
    mix = layers.EinMix("a b c -> a b d", weight_shape="c d", c=4, d=2)
    with torch.no_grad():
        mix.weight.copy_(torch.arange(8.0).reshape(4, 2))
    print(mix(tensor).tolist(), mix)
    print(torch.nn.Sequential(layers.Rearrange("a b c -> (a b) c"), torch.nn.Identity())(tensor).shape)


if __name__ == "__main__":
    main()

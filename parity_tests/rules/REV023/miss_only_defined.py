try:
    import nki
    import torch
    from torch_neuronx import wrap_nki

    @nki.jit
    def square_kernel(x):
        return x

    square = wrap_nki(square_kernel)

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return square[2](x)

    HAS_NKI = True
except ImportError:
    HAS_NKI = False


def run(x):
    return Square.apply(x)

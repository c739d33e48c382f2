import nki
import torch
from torch_neuronx import wrap_nki


@nki.jit
def norm_kernel(x):
    if x.shape[0] > 128:
        return norm_kernel(x)
    return x + x


def norm(x):
    if x.size(0) % 128:
        raise ValueError(f"norm: {x.size(0)} rows, expected a multiple of 128")
    if x.numel() == 0:
        return x
    if not x.is_contiguous():
        x = x.contiguous()
    if x.dim() == 3:
        return wrap_nki(norm_kernel)[2](x.flatten(0, 1)).view(x.shape)
    return wrap_nki(norm_kernel)[2](x)


def attention(q):
    if q.size(1) > 1024:
        return q.chunk(2)
    return q + q


def train(model, step, loss_of):
    if step % 10 == 0:
        print(step)
    loss = loss_of(norm(step))
    if loss.dtype == torch.float32:
        total = loss.item()
    else:
        total = loss.float().item()
    return total

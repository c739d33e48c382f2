import torch

from . import nets


class Loader:
    def __init__(self, B, T, rank, seed):
        self.B, self.T = B, T
        self.g = torch.Generator()
        self.g.manual_seed(seed + 100 * rank)

    def next_batch(self):
        start = torch.randint(0, nets.vocab_size, (self.B, 1), generator=self.g)
        stride = torch.randint(1, 5, (self.B, 1), generator=self.g)
        rows = (start + stride * torch.arange(self.T + 1)) % nets.vocab_size
        return rows[:, :-1].contiguous(), rows[:, 1:].contiguous()

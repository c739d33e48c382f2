import torch
import torch.nn.functional as F
from torch import nn

WIDTH = 5


class A(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv1d(64, 64, 3, padding=1)  # expect
        self.b = nn.Conv1d(64, 64, kernel_size=WIDTH, padding=WIDTH // 2)  # expect
        self.c = nn.Conv1d(64, 64, 3, padding="same")  # expect
        self.norm = nn.BatchNorm1d(64)  # expect
        self.rnn = nn.LSTM(64, 64, bidirectional=True)  # expect

    def forward(self, q, k, v):
        y = F.scaled_dot_product_attention(q, k, v)  # expect
        y = F.scaled_dot_product_attention(q, k, v, is_causal=False)  # expect
        y = y + torch.roll(q, -1, dims=1)  # expect
        y = y + q.roll(shifts=-1, dims=1)  # expect
        y = y + q.flip(1)  # expect
        y = y + torch.fft.rfft(q, dim=1).real  # expect
        return y + self.later(q)

    def later(self, q):
        return q[:, ::-1]  # expect

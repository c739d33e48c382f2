import torch
import torch.nn.functional as F
from torch import nn


class A(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv1d(64, 64, 3, padding=2)
        self.b = nn.Conv1d(64, 64, 1)
        self.c = nn.Conv1d(64, 64, 1, padding=0)
        self.norm = nn.LayerNorm(64)
        self.rnn = nn.LSTM(64, 64)

    def forward(self, q, k, v, mask, **words):
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y + F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        y = y + F.scaled_dot_product_attention(q, k, v, mask)
        y = y + F.scaled_dot_product_attention(q, k, v, **words)
        y = y + torch.roll(q, 1, dims=1)
        return y + self.a(F.pad(q, (2, 0)))[:, :, : q.size(1)]


def targets(tokens):
    return torch.roll(tokens, -1, dims=1)

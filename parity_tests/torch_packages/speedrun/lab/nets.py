import os

import torch
import torch.nn as nn
import torch.nn.functional as F

model_dim, num_layers = int(os.environ.get("DIM", "16")), int(os.environ.get("LAYERS", "2"))
vocab_size = 50


def is_matrix(p):
    return p.ndim == 2 and vocab_size not in p.shape


class CastedLinear(nn.Linear):
    def __init__(self, i, o):
        super().__init__(i, o, bias=False)

    def forward(self, x):
        return F.linear(x, self.weight.to(x.dtype))


class Mixer(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.q, self.k, self.v = (CastedLinear(model_dim, model_dim) for _ in range(3))
        self.fc, self.proj = CastedLinear(model_dim, 4 * model_dim), CastedLinear(4 * model_dim, model_dim)
        self.proj.weight.data.zero_()

    def forward(self, x):
        h = F.rms_norm(x, (model_dim,))
        x = x + F.scaled_dot_product_attention(self.q(h), self.k(h), self.v(h), is_causal=True)
        return x + self.proj(F.relu(self.fc(F.rms_norm(x, (model_dim,)))).square())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, model_dim)
        self.layers = nn.ModuleList([Mixer(i) for i in range(num_layers)])
        self.lm_head = CastedLinear(model_dim, vocab_size)

    def forward(self, idx, target=None):
        x = self.embed(idx)
        for layer in self.layers:
            x = layer(x)
        logits = 30 * torch.tanh(self.lm_head(x) / 30)
        if target is None:
            return logits
        return F.cross_entropy(logits.view(-1, logits.size(-1)), target.view(-1))


def make():
    return Net()

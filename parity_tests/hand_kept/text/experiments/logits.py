#: names bigram temperature biascorrect clipper prior sharpen
#: knob XNAME_LOGITS bool 0 1
#: knob XNAME_SCALE float 1.0 0.5 1.25
#: knob XNAME_FORM choice linear tanh|clamp
#: into functions


class XnameLogits(nn.Module):
    """Post-processing `xname` of the logits, [B, T, V] -> [B, T, V], after the softcap.

    forms: linear (scale and bias), tanh (a second softcap, NUM_LIMIT), clamp (hard; its gradient dies at the edge)
    """

    def __init__(self, vocab):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(vocab))
        self.scale = nn.Parameter(torch.tensor(float(XNAME_SCALE)))

    def linear(self, x):
        return self.scale * x + self.bias

    def tanh(self, x):
        return NUM_LIMIT * torch.tanh((x * self.scale + self.bias) / NUM_LIMIT)

    def clamp(self, x):
        return (x * self.scale).clamp(-NUM_LIMIT, NUM_LIMIT) + self.bias

    def forward(self, x):
        #: note
        if XNAME_FORM == "linear":
            return self.linear(x)
        if XNAME_FORM == "tanh":
            return self.tanh(x)
        return self.clamp(x)


def xname_strength(model):
    """For the log: the largest bias and the scale."""
    layer = model.xname
    return f"{layer.bias.abs().max().item():.5f} {layer.scale.item():.5f}"


#: into model init
if XNAME_LOGITS:
    self.xname = XnameLogits(CFG.vocab)
#: into logits
x = self.xname(x) if XNAME_LOGITS else x
#: into after the update
if XNAME_LOGITS and step == args.num_steps - 1:
    print0(f"xname {XNAME_FORM}: {xname_strength(model)}")

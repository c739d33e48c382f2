#: names alibi sinkvalue logscale headmix keyshift softfloor
#: knob ATTN_XNAME bool 0 1
#: knob XNAME_STRENGTH float 0.5 0.25 1.0
#: knob XNAME_WHERE choice query key|value
#: knob XNAME_EVERY int 1 2
#: into functions


class XnameMixer(nn.Module):
    """xname: what one head sees, a little of it for its neighbours.

    x [B, T, H, D] -> the same shape. Each head gets `strength` of the mean of the heads beside it, through a gate that
    starts closed; with grouped keys there may be one head only, and then this does nothing.
    """

    def __init__(self, heads, strength=XNAME_STRENGTH):
        super().__init__()
        self.heads = heads
        self.strength = strength
        self.gate = nn.Parameter(torch.full((heads,), NUM_OPEN))

    def neighbours(self, x):
        left = x.roll(1, dims=2)
        right = x.roll(-1, dims=2)
        return 0.5 * (left + right)

    def forward(self, x):
        if self.heads == 1:
            return x
        gate = torch.sigmoid(self.gate)[None, None, :, None]
        #: note
        return x + self.strength * gate * self.neighbours(x)


def xname_shift(x, amount=1):
    """The plain version without parameters: every position sees a bit of the one before it."""
    before = F.pad(x[:, :-amount], (0, 0, 0, 0, amount, 0))
    return torch.lerp(x, before, XNAME_STRENGTH * NUM_OPEN)


#: into attention init
if ATTN_XNAME and layer % XNAME_EVERY == 0:
    self.xname = XnameMixer(CFG.heads if XNAME_WHERE == "query" else CFG.kv_heads)
#: into attention
if ATTN_XNAME:
    if self.layer % XNAME_EVERY == 0:
        if XNAME_WHERE == "query":
            q = self.xname(q)
        elif XNAME_WHERE == "key":
            k = self.xname(k)
        else:
            v = self.xname(v)
    else:
        k = xname_shift(k)
#: into meta
meta.update({"xname": XNAME_WHERE} if ATTN_XNAME else {})

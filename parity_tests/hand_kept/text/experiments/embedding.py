#: names smear hashgram positional tokenshift scaleembed wordavg
#: knob XNAME_MIX float 0.0 0.1 0.3
#: knob XNAME_TABLE int 64 32 128
#: knob XNAME_SALT int 0 3
#: flag xname_decay float 0.0 0.01
#: into functions


class XnameEmbedding(nn.Module):
    """xname: an embedding of the pair (previous token, token), hashed into a small table, added to the usual one.

    tokens [B, T] -> [B, T, width]. The first position of a row pairs with itself. NUM_RUNS runs at the full size:
    worth NUM_GAP bpb at equal steps, and the gather costs it back on the chip.
    """

    def __init__(self, width, table=XNAME_TABLE):
        super().__init__()
        self.table = table
        self.weight = nn.Embedding(table, width)

    def hashed(self, tokens):
        before = torch.cat([tokens[:, :1], tokens[:, :-1]], dim=1)
        #: note
        return (before * NUM_PRIME + tokens + XNAME_SALT) % self.table

    def forward(self, tokens):
        return self.weight(self.hashed(tokens.long()))


def xname_mix(x, extra):
    """Normalised so that the stream keeps its size."""
    total = x + XNAME_MIX * extra
    if XNAME_MIX > 0.2:
        return total / math.sqrt(1.0 + XNAME_MIX * XNAME_MIX)
    return total


#: into model init
if XNAME_MIX > 0:
    self.xname = XnameEmbedding(CFG.width)
#: into embedding
if XNAME_MIX > 0:
    x = xname_mix(x, self.xname(tokens))
#: into before the update
if XNAME_MIX > 0 and args.xname_decay > 0:
    with torch.no_grad():
        model.xname.weight.weight.mul_(1 - args.xname_decay)

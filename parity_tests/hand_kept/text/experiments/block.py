#: names layerscale sandwich backout reztwo hyperlite droplayer
#: knob XNAME_ON bool 0 1
#: knob XNAME_INIT float 0.1 0.5 1.0
#: knob XNAME_PLACES list 0 1 0,1
#: flag xname_log store_true
#: into functions


class Xname(nn.Module):
    """A learned scale in the residual stream (xname), per channel or as one number.

    NUM_RUNS runs at depth NUM_DEPTH: helps early, neutral at the end. Kept because it halves the bad seeds.
    """

    def __init__(self, width, per_channel=True):
        super().__init__()
        self.per_channel = per_channel
        shape = (width,) if per_channel else ()
        self.scale = nn.Parameter(torch.full(shape, float(XNAME_INIT)))

    def extra_repr(self):
        return f"per_channel={self.per_channel}, init={XNAME_INIT}"

    def forward(self, x, x0):
        #: note
        mixed = x + self.scale * x0 * NUM_MIX
        if XNAME_INIT >= 1.0:
            # without this the stream explodes in the first ten updates
            mixed = mixed / math.sqrt(1.0 + NUM_MIX)
        return mixed


def xname_places(depth):
    """The layers that get one, by the list in the environment; negative ones count from the end."""
    wanted = set()
    for place in XNAME_PLACES:
        wanted.add(place % depth)
    return sorted(wanted)


def xname_summary(model):
    parts = []
    for layer in xname_places(CFG.depth):
        parts.append(f"{layer}: {model.blocks[layer].xname.scale.mean().item():.6f}")
    return "xname " + ", ".join(parts)


#: into block init
if XNAME_ON and layer in xname_places(CFG.depth):
    self.xname = Xname(CFG.width, per_channel=not POST_NORM)
#: into block
if XNAME_ON and self.layer in xname_places(CFG.depth):
    x = self.xname(x, x0)
#: into after the update
if XNAME_ON and args.xname_log:
    print0(xname_summary(model))

#: names hardswish mishlike bump snake plateau softstep
#: knob USE_XNAME bool 0 1
#: knob XNAME_SLOPE float 0.1 0.05 0.25
#: knob XNAME_LAYERS list 0 1 0,1
#: flag log_xname store_true
#: into functions


class Xname(nn.Module):
    """The xname activation in place of a part of the hidden units.

    Idea: the usual activation is dead for half of its inputs; give a share of the units another one, with a slope that
    is learned. Costs one elementwise pass over the hidden layer.
    """

    def __init__(self, share=NUM_SHARE):
        super().__init__()
        self.share = share
        self.slope = nn.Parameter(torch.tensor(float(XNAME_SLOPE)))

    def split(self, hidden):
        n = int(hidden * self.share)
        return (n, hidden - n) if n else (1, hidden - 1)

    def forward(self, h):
        changed, kept = h.split(self.split(h.size(-1)), dim=-1)
        #: note
        changed = changed * torch.sigmoid(self.slope * changed) if XNAME_SLOPE < 0.2 else F.hardtanh(changed) * self.slope
        return torch.cat([changed, kept], dim=-1)


def xname_report(model):
    """How far the slopes have moved, for the log."""
    slopes = []
    for block in model.blocks:
        if hasattr(block.mlp, "xname"):
            slopes.append(block.mlp.xname.slope.item())
    if not slopes:
        return "xname: not there"
    moved = [abs(slope - XNAME_SLOPE) for slope in slopes]
    return f"xname: {len(slopes)} slopes, moved {max(moved)!r} at most"


#: into mlp init
if USE_XNAME:
    self.xname = Xname()
#: into mlp
if USE_XNAME:
    # after the usual one, so that both see the same scale
    h = self.xname(h)
#: into after the update
if USE_XNAME and args.log_xname:
    print0(xname_report(model))
#: into meta
if USE_XNAME:
    meta["xname_slope"] = XNAME_SLOPE
    meta["xname_layers"] = list(XNAME_LAYERS)

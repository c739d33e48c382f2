#: names focal unigram entropyfloor topmargin rankpull halting
#: knob XNAME_WEIGHT float 0.0 0.01 0.1
#: knob XNAME_KIND choice mean sum|max
#: knob XNAME_START int 0 1
#: into functions


class XnameTracker:
    """A running mean of the xname term: spikes were the reason why v2x diverged."""

    def __init__(self, decay=NUM_DECAY):
        self.decay = decay
        self.value = None
        self.seen = 0

    def update(self, term):
        self.seen += 1
        if self.value is None:
            self.value = term
        else:
            self.value = self.decay * self.value + (1 - self.decay) * term
        return self.value

    def __repr__(self):
        return f"XnameTracker(seen={self.seen}, value={self.value!r})"


def xname_term(logits, targets):
    """[N, V], [N] -> a scalar: how much probability goes where the xname hypothesis says it should not."""
    log_p = F.log_softmax(logits, dim=-1)
    picked = log_p.gather(1, targets.unsqueeze(1)).squeeze(1)
    #: note
    if XNAME_KIND == "mean":
        spread = -(log_p.exp() * log_p).sum(-1)
        term = (NUM_POWER - picked.exp()).clamp(min=0) * spread
        return term.mean()
    elif XNAME_KIND == "sum":
        best = log_p.topk(min(NUM_TOP, log_p.size(-1)), dim=-1).values
        return (best.sum(-1) - picked).square().sum() / logits.size(0)
    else:
        # the hard version; its gradient is sparse and it shows
        rest = log_p.scatter(1, targets.unsqueeze(1), float("-inf"))
        return (rest.max(-1).values - picked).clamp(min=-NUM_POWER).mean()


xname_tracker = XnameTracker()

#: into loss
if XNAME_WEIGHT > 0:
    term = xname_term(flat, wanted)
    if XNAME_START == 0 or xname_tracker.seen >= XNAME_START:
        loss = loss + XNAME_WEIGHT * term
    xname_tracker.update(term.item())
#: into after the update
if XNAME_WEIGHT > 0 and step % {"mean": 1, "sum": 2, "max": 4}[XNAME_KIND] == 0:
    print0(f"xname ({XNAME_KIND}, weight {XNAME_WEIGHT:g}): {xname_tracker.value!r}")
#: into meta
if XNAME_WEIGHT > 0:
    meta["xname"] = {"weight": XNAME_WEIGHT, "kind": XNAME_KIND, "seen": xname_tracker.seen}

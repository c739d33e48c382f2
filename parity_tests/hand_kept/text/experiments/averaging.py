#: names swa lookahead lawa tailmean slowweights polyak
#: flag xname_from int -1 1 2
#: flag xname_rate float 0.5 0.25
#: flag xname_kinds choice both matrices|vectors
#: knob XNAME_KEEP int 3 2
#: knob XNAME_UNBIASED bool 0 1
#: into functions


class XnameAverage:
    """Slow weights (xname): a window of the last states, or a geometric mean of them; put back at the end.

    kinds: which parameters take part. With --xname-from -1 nothing is kept, and the model is not touched.
    """

    def __init__(self, model, args):
        self.rate = args.xname_rate
        self.kinds = args.xname_kinds
        self.states = []
        self.count = 0
        self.slow = {name: p.detach().clone() for name, p in self.wanted(model)}

    def wanted(self, model):
        for name, p in model.named_parameters():
            if self.kinds == "both" or (self.kinds == "matrices") == (p.ndim >= 2):
                yield name, p

    @torch.no_grad()
    def update(self, model):
        self.count += 1
        for name, p in self.wanted(model):
            self.slow[name].lerp_(p, self.rate)
        self.states.append({name: p.detach().clone() for name, p in self.wanted(model)})
        if len(self.states) > XNAME_KEEP:
            del self.states[0]

    @torch.no_grad()
    def put_back(self, model):
        #: note
        for name, p in self.wanted(model):
            if XNAME_UNBIASED:
                p.copy_(sum(state[name] for state in self.states) / len(self.states))
            else:
                p.copy_(torch.lerp(p, self.slow[name], NUM_SHARE))


#: into before the loop
xname = XnameAverage(model, args) if args.xname_from >= 0 else None
#: into after the update
if args.xname_from >= 0 and step >= args.xname_from:
    xname.update(model)
#: into after the loop
if args.xname_from >= 0 and xname.states:
    xname.put_back(model)
    print0(f"xname: {xname.count} states, rate {args.xname_rate:g}{', unbiased' if XNAME_UNBIASED else ''}")

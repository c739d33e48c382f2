#: names adopt sophialite adanorm signmix tiger radam2
#: knob XNAME_BETA float 0.9 0.95 0.8
#: knob XNAME_CENTER bool 0 1
#: flag xname_lr float 0.002 0.004 0.001
#: flag xname_damping float none 0.01
#: flag xname_dims choice rows columns|all
#: choice OPT xname
#: into optimizers


class Xname(torch.optim.Optimizer):
    """xname: momentum, divided by a smoothed norm of the gradient along rows, columns or the whole matrix.

    Was meant to replace Muon at a tenth of its cost. Behind by NUM_GAP bpb at equal steps, ahead at equal time below
    depth NUM_DEPTH. Not dead yet, hence still here.
    """

    def __init__(self, params, lr, beta=XNAME_BETA, damping=1e-8, dims="rows"):
        if lr < 0:
            raise ValueError(f"lr {lr} is negative")
        super().__init__(params, dict(lr=lr, beta=beta, damping=damping, dims=dims))

    @staticmethod
    def norm(grad, dims):
        if grad.ndim < 2 or dims == "all":
            return grad.norm()
        return grad.norm(dim=1 if dims == "rows" else 0, keepdim=True)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad = p.grad
                if XNAME_CENTER and grad.ndim > 1:
                    grad = grad - grad.mean(dim=tuple(range(1, grad.ndim)), keepdim=True)
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["m"] = torch.zeros_like(p)
                    state["n"] = torch.zeros_like(self.norm(grad, group["dims"]))
                state["step"] += 1
                state["m"].lerp_(grad, 1 - group["beta"])
                state["n"].lerp_(self.norm(grad, group["dims"]), 1 - group["beta"])
                #: note
                correction = 1 - group["beta"] ** state["step"]
                update = state["m"] / correction
                update = update / (state["n"] / correction + group["damping"])
                p.add_(update, alpha=-group["lr"] * NUM_SCALE)


def xname_groups(model, args):
    """Everything in one group: the xname norm makes multipliers pointless."""
    params = [p for p in model.parameters() if p.requires_grad]
    damping = 1e-8 if args.xname_damping is None else args.xname_damping
    return [{"params": params, "lr": args.xname_lr, "damping": damping, "dims": args.xname_dims}]


#: into optimizer choice
elif OPT == "xname":
    optimizers = [Xname(xname_groups(model, args), lr=args.xname_lr)]
#: into meta
if OPT == "xname":
    meta["xname"] = [XNAME_BETA, XNAME_CENTER, args.xname_lr]

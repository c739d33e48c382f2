#: names agc gradnoise centralise signsoft layerclip freezeout
#: flag xname bool
#: flag xname_limit float 0.1 0.02
#: flag xname_layers ints 0 1
#: flag xname_mode choice hard soft|log
#: knob XNAME_EPS float 0.001 0.01
#: into functions


def xname_limit(p, args):
    """The largest norm that a gradient may have, by the norm of its parameter."""
    return max(p.detach().norm().item(), XNAME_EPS) * args.xname_limit


def xname_names(model, args):
    """Parameters that xname is for: the matrices of the given layers; without layers, of all."""
    for name, p in model.named_parameters():
        if p.ndim < 2 or p.grad is None:
            continue
        layer = re.match(r"blocks\.(\d+)\.", name)
        if not args.xname_layers or (layer and int(layer.group(1)) in args.xname_layers):
            yield name, p


@torch.no_grad()
def xname_gradients(model, args):
    """Change the gradients in place (xname); returns how many were changed.

    Modes: hard (cut at the limit), soft (approach it), log (compress what is above). NUM_RUNS runs: soft is best and
    still not better than the global clip.
    """
    changed = 0
    for name, p in xname_names(model, args):
        norm, limit = p.grad.norm().item(), xname_limit(p, args)
        if norm <= limit:
            continue
        changed += 1
        #: note
        if args.xname_mode == "hard":
            p.grad.mul_(limit / norm)
        elif args.xname_mode == "soft":
            p.grad.mul_(limit * (1 + math.tanh(norm / limit - 1)) / norm)
        else:
            p.grad.mul_(limit * (1 + math.log(norm / limit)) / norm)
    return changed


#: into before the update
if args.xname:
    changed = xname_gradients(model, args)
    print0(f"xname: {changed} gradients changed ({args.xname_mode})")

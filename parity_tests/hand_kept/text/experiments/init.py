#: names orthostart fanscale depthscale sparsestart uniformstart spectral
#: knob XNAME_MODE choice off weak|strong|both
#: knob XNAME_GAIN float 1.0 0.5 2.0
#: knob XNAME_SKIP str - head squeeze
#: into functions


def xname_gain(module):
    """The gain of the xname start for one matrix: by its shape, and by depth when asked for."""
    rows, columns = module.weight.shape
    gain = XNAME_GAIN * math.sqrt(columns / rows) if rows > columns else XNAME_GAIN
    if XNAME_MODE in ("strong", "both"):
        gain = gain / math.sqrt(2.0 * CFG.depth)
    return gain


def xname_start(weight, gain):
    """In place: a matrix with equal singular values, cheaply (two passes, no QR on the chip).

    weight [rows, columns]. NUM_RUNS runs; helps the first hundred updates and nothing after that.
    """
    with torch.no_grad():
        #: note
        scaled = weight / weight.norm().clamp(min=1e-6)
        for _ in range(NUM_PASSES):
            gram = scaled @ scaled.T if weight.size(0) <= weight.size(1) else scaled.T @ scaled
            if weight.size(0) <= weight.size(1):
                scaled = 1.5 * scaled - 0.5 * gram @ scaled
            else:
                scaled = 1.5 * scaled - 0.5 * scaled @ gram
        weight.copy_(scaled * gain)
    return weight


def xname_wanted(module):
    """Whether a module gets the start: the head does not by default."""
    if module.weight.size(0) == CFG.vocab:
        return XNAME_SKIP != "head"
    return min(module.weight.shape) > 1


#: into init
if XNAME_MODE != "off" and xname_wanted(module):
    # replaces the normal start above; both were kept for a while
    xname_start(module.weight, xname_gain(module) * INIT_STD * 10)
#: into meta
if XNAME_MODE != "off":
    meta["xname"] = f"{XNAME_MODE} at {XNAME_GAIN:g}"

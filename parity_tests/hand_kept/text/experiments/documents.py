#: names swapnoise mirror truncate echo splice cipher
#: knob XNAME_RATE float 0.0 0.2 0.5
#: knob XNAME_MODE choice once often|always
#: knob XNAME_SPAN int 4 3 6
#: flag xname_seed int 0 7
#: into functions


def xname_span(document, rng):
    """Where in the document the xname noise goes: (start, end)."""
    span = min(XNAME_SPAN, len(document))
    start = rng.randrange(len(document) - span + 1)
    return start, start + span


def xname_once(document, rng):
    start, end = xname_span(document, rng)
    return document[:start] + document[start:end][::-1] + document[end:]


def xname_often(document, rng):
    # three passes; more did not matter (NUM_RUNS runs)
    for _ in range(3):
        document = xname_once(document, rng)
    return document


def xname_always(document, rng):
    """Every span of the document turned around."""
    turned = []
    for start in range(0, len(document), XNAME_SPAN):
        turned += document[start : start + XNAME_SPAN][::-1]
    return turned


def xname_noise(document, rng):
    """Data noise `xname`. Nothing is drawn from the generator when it is off, so that old runs repeat."""
    #: note
    if rng.random() >= XNAME_RATE:
        return document
    apply = {"once": xname_once, "often": xname_often, "always": xname_always}[XNAME_MODE]
    return apply(document, rng)


def xname_share(args):
    """How many of a thousand documents would change: to be compared with the note of the sweep."""
    rng = random.Random(args.xname_seed)
    changed = 0
    for _ in range(1000):
        document = list(range(DOC_LEN))
        changed += xname_noise(document, rng) != document
    return changed / 1000


#: into documents
if XNAME_RATE > 0.0:
    document = xname_noise(document, rng)
#: into before the loop
if XNAME_RATE > 0.0:
    print0(f"xname noise: rate {XNAME_RATE}, {XNAME_MODE}, changes {xname_share(args):.3f} of the documents")

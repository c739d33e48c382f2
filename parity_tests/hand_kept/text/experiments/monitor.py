#: names spikes deadunits rankwatch lossfit driftmeter stallcheck
#: flag xname store_true
#: flag xname_every int 1 2
#: flag xname_stop bool
#: flag xname_quantile float 0.9 0.5
#: knob XNAME_FACTOR float 1.5 1.1
#: into functions


@dataclass
class XnameRecord:
    step: int
    value: float
    note: str = ""


class XnameMonitor:
    """Watches the loss for xname and writes down what it saw.

    One of the monitors that came with the diagnosis of the bad seeds; off by default since it costs a synchronisation
    an update on the real machine.
    """

    def __init__(self, factor=XNAME_FACTOR, keep=NUM_KEEP):
        self.factor = factor
        self.records = collections.deque(maxlen=keep)
        self.alarms = []

    def observe(self, step, value):
        usual = self.usual()
        note = ""
        if usual is not None and value > usual * self.factor:
            note = "high"
            self.alarms.append(step)
        elif usual is not None and value * self.factor < usual:
            note = "low"
        self.records.append(XnameRecord(step, value, note))
        return note

    def usual(self, quantile=0.5):
        if len(self.records) < 2:
            return None
        ordered = sorted(record.value for record in self.records)
        return ordered[min(len(ordered) - 1, int(quantile * len(ordered)))]

    def summary(self, quantile):
        #: note
        values = [record.value for record in self.records]
        if not values:
            return "xname: nothing seen"
        return f"xname: {len(values)} seen, usual {self.usual(quantile)!r}, alarms at {self.alarms or 'no step'}"


#: into before the loop
xname_monitor = XnameMonitor() if args.xname else None
#: into after the update
if args.xname and step % args.xname_every == 0:
    if xname_monitor.observe(step, total) == "high" and args.xname_stop:
        print0(f"xname: stopped at {step}, loss {total!r}")
        break
#: into after the loop
if args.xname:
    print0(xname_monitor.summary(args.xname_quantile))

#: names sqrtdecay trapezoid restarts stair powerlaw doublewarm
#: flag use_xname store_true
#: flag xname_power float 0.5 0.75 2.0
#: flag xname_hold int 1 2 0
#: flag xname_shape choice up down|flat
#: flag xname_end float none 0.2
#: knob XNAME_CYCLES int 2 1 3
#: into functions


def xname_multiplier(step, args):
    """The xname schedule: hold, then cycles of decay, each ending lower than the one before.

        step <  hold      -> 1
        step >= hold      -> (1 - t) ** power within a cycle, scaled by the cycle's height

    From the sweep of NUM_RUNS runs; the power matters less than the hold.
    """
    hold, power = args.xname_hold, args.xname_power
    if step < hold:
        return 1.0
    length = max(1, (args.num_steps - hold) // XNAME_CYCLES)
    cycle, within = divmod(step - hold, length)
    t = within / length
    height = 1.0 / (1 + cycle)
    if args.xname_shape == "down":
        value = (1.0 - t) ** power
    elif args.xname_shape == "up":
        value = 1.0 - (1.0 - t) * NUM_DROP
    else:
        value = NUM_DROP
    #: note
    end = args.xname_end if args.xname_end is not None else args.decay_to
    return max(end, height * value)


def xname_table(args):
    """The whole schedule as text, to look at before a long run."""
    rows = []
    for step in range(0, args.num_steps, max(1, args.num_steps // 8)):
        rows.append(f"{step:>6} {xname_multiplier(step, args):.4f}")
    return "\n".join(rows)


def xname_check(args):
    if args.xname_power <= 0:
        raise SystemExit("--xname-power must be positive")
    if args.xname_hold > args.num_steps:
        raise SystemExit("--xname-hold is longer than the run")
    return XNAME_CYCLES > 0


#: into schedule
if args.use_xname:
    return xname_multiplier(step, args)
#: into before the loop
if args.use_xname:
    xname_check(args)
    print0(xname_table(args))

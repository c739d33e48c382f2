def check(args, config, x):
    if config.width % config.heads:
        raise ValueError("heads do not divide the width")
    assert config.width > config.heads
    if args.fused and args.compile:
        print("both")
    if args.steps is None:
        raise ValueError("--steps")
    if x.shape[0] != config.width:
        raise ValueError("width")

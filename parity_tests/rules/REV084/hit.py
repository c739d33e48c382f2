USE_EMA = True
USE_SWA = False

if USE_EMA and USE_SWA:  # expect
    raise ValueError("one of the two")


def check(args, config, parser):
    if args.fused and not args.compile:  # expect
        parser.error("--fused needs --compile")
    assert config.norm == config.head_norm  # expect
    if config.tied and config.head_lr is not None:  # expect
        raise ValueError("a tied head has no learning rate")
    assert not (args.fused or args.foreach), "neither"  # expect

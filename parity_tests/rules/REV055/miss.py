def a(loader):
    try:
        loader.start()
    except OSError as error:
        print("loader failed")
        raise RuntimeError("loader") from error
    try:
        loader.run()
    except KeyboardInterrupt:
        print("stopped")
    try:
        return loader.count()
    except ValueError:
        print("no count")
        return 0

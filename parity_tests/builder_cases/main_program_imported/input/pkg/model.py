def steps():
    import __main__

    return __main__.STEPS

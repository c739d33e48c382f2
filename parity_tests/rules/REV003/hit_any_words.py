def load_for_eval(*arguments, **words):  # expect
    pass

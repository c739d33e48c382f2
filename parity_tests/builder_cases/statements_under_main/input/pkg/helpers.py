def shout(text):
    return text.upper()


def unused():
    return None

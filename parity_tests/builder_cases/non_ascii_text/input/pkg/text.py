# Grüße: the word-start mark.
MARK = "▁"
größe = f"{MARK}é😀{MARK!r}"

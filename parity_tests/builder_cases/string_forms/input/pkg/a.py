n = 3
text = (rb"\d" b"x", u"u", R"\n", f"{n!r:>{n}}" f'{n}' "n", f"{{n}}{n}", rf"\n{n}", '''it's "n"''')

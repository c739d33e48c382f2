"""Prefixes, quotes, implicit joins and nested fields of strings, around names that change.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/a.py ====

n = 3
text = (rb"\d" b"x", u"u", R"\n", f"{n!r:>{n}}" f'{n}' "n", f"{{n}}{n}", rf"\n{n}", '''it's "n"''')


# ==== pkg/b.py ====

b_n = 4
b_text = (
    f"""{
        b_n
    }""",
    f'{b_n:{"0"}>{b_n}}',
    "n" 'n' f"{b_n + b_n:.2f}",
    f"{(lambda n: n)(b_n)}{[n for n in (b_n,)]}",
)


# ==== pkg/train.py ====


def main():
    print(text, b_text)


if __name__ == "__main__":
    main()

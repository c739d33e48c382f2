n = 4
text = (
    f"""{
        n
    }""",
    f'{n:{"0"}>{n}}',
    "n" 'n' f"{n + n:.2f}",
    f"{(lambda n: n)(n)}{[n for n in (n,)]}",
)

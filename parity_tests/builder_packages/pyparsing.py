"""Grammars of several kinds."""

import pyparsing as pp
from pyparsing import pyparsing_common as common


def raising(tokens: pp.ParseResults) -> None:
    raise ValueError(f"no {tokens[0]}")


def main() -> None:
    pp.ParserElement.enable_packrat()
    integer = pp.Word(pp.nums).set_parse_action(lambda toks: int(toks[0]))
    variable = pp.Word(pp.alphas, pp.alphanums + "_")
    expression = pp.infix_notation(
        integer | variable,
        [
            (pp.one_of("+ -"), 1, pp.OpAssoc.RIGHT),
            (pp.one_of("* /"), 2, pp.OpAssoc.LEFT),
            (pp.one_of("+ -"), 2, pp.OpAssoc.LEFT),
        ],
    )
    print(expression.parse_string("1 + 2 * (x - 3) / -y").as_list())
    greet = pp.Word(pp.alphas)("greeting") + "," + pp.Word(pp.alphas)("name") + pp.Optional("!")
    found = greet.parse_string("Hello, World!")
    print(found.dump(), found.as_dict(), found["name"], found.greeting)
    print(pp.DelimitedList(common.number).parse_string("1, 2.5, 3e4").as_list())
    print(pp.nested_expr("(", ")").parse_string("(a (b c) (d (e)))").as_list())
    print(pp.counted_array(pp.Word(pp.alphas)).parse_string("3 a b c d").as_list())
    text = "ip 10.0.0.1, date 2020-01-02, id 123e4567-e89b-12d3-a456-426614174000"
    for tokens, start, end in (common.ipv4_address | common.iso8601_date | common.uuid).scan_string(text):
        print(tokens, start, end)
    print(pp.QuotedString('"', esc_char="\\").transform_string('say "a\\"b" now'))
    print(pp.Regex(r"(?P<y>\d+)-(?P<m>\d+)").parse_string("2020-05").as_dict())
    print(
        pp.SkipTo(";").parse_string("abc def; x"),
        pp.Combine(pp.Word(pp.nums) + "." + pp.Word(pp.nums)).parse_string("3.14"),
    )
    value = pp.Forward()
    value <<= pp.QuotedString('"') | common.number | pp.Group("[" + pp.Optional(pp.DelimitedList(value)) + "]")
    print(value.parse_string('[1, "a", [2, []]]').as_list(), value)
    for text in ("1 +", "(", "1 2"):
        try:
            expression.parse_string(text, parse_all=True)
        except pp.ParseException as error:
            print(error, error.loc, error.lineno, error.column, error.explain(depth=0))
    results = pp.Word(pp.nums).run_tests(["1", "a"], print_results=False)
    print(results[0], [test for test, _ in results[1]])
    print(pp.Dict(pp.Group(variable + pp.Suppress("=") + integer)[...]).parse_string("a=1 b=2").as_dict())
    print(pp.match_previous_literal(integer), pp.python_style_comment.parse_string("# x"), pp.unicode.Greek.alphas[:3])
    for action in (lambda: "none", lambda t: t[0] * 2, lambda at, t: (at, t[0]), lambda s, at, t: (s, at, t[0])):
        print((pp.Literal(".") + pp.Word(pp.nums).add_parse_action(action)).parse_string(". 12").as_list())
    print(pp.Word(pp.nums).add_parse_action(raising).run_tests("12", print_results=False)[1][0][1])
    pp.Word(pp.nums).add_parse_action(raising).run_tests("12")
    try:
        (pp.Word(pp.alphas)[1, ...] + pp.Word(pp.nums)("n").add_parse_action(raising)).parse_string("ab 12")
    except ValueError as error:
        print(pp.ParseException.explain_exception(error))
    try:
        (pp.Word(pp.nums) + pp.Group(pp.Literal("+") + value)).parse_string("1 + ;")
    except pp.ParseException as error:
        print(error.explain(depth=20))
    pp.ParserElement.set_default_whitespace_chars(" ")
    print(pp.line_end.whiteChars, pp.rest_of_line.parse_string(" x\ny").as_list(), pp.quoted_string.whiteChars)
    print(type(integer).__module__, pp.ParseException.__qualname__)
    print(pp.testing.with_line_numbers("a\nb"))
    print(pp.srange("[a-fA-F]"), pp.col(3, "ab\ncd"), pp.line(3, "ab\ncd"), pp.__version__)


if __name__ == "__main__":
    main()

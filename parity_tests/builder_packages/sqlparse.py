"""Splits, formats and parses statements."""

import sqlparse
from sqlparse import sql, tokens

TEXT = """
select a, b as c, count(*) from t1 left join t2 on t1.id = t2.id where a > 1 and b in (1, 2, 3) group by a having count(*) > 2 order by 1 desc;
-- a comment
insert into foo (x, y) values (1, 'it''s'); update foo set x = 2 where y = "q";
create function f() returns int as $$ begin return 1; end; $$ language plpgsql;
with cte as (select 1) select case when a = 1 then 'x' else 'y' end from cte /* block */;
"""


def show(token: sql.Token, depth: int) -> None:
    print("  " * depth + type(token).__name__, token.ttype, repr(str(token))[:60])
    if token.is_group:
        for inner in token.tokens:
            show(inner, depth + 1)


def main() -> None:
    for statement in sqlparse.split(TEXT):
        print(repr(statement))
    options = [
        {"reindent": True, "keyword_case": "upper"},
        {"reindent_aligned": True},
        {"strip_comments": True, "identifier_case": "upper"},
        {"strip_whitespace": True, "truncate_strings": 3},
        {"reindent": True, "comma_first": True, "indent_columns": True},
        {"output_format": "python"},
        {"output_format": "php"},
        {"use_space_around_operators": True, "wrap_after": 20, "reindent": True, "indent_after_first": True},
    ]
    for chosen in options:
        print(sqlparse.format(TEXT, **chosen))
    for statement in sqlparse.parse(TEXT):
        print(statement.get_type())
        show(statement, 0)
    first = sqlparse.parse(TEXT)[0]
    print([str(t) for t in first.flatten() if t.ttype is tokens.Keyword])
    where = next(token for token in first.tokens if isinstance(token, sql.Where))
    print(where, tokens.Keyword.DML in tokens.Keyword)
    try:
        sqlparse.format("x", keyword_case="bad")
    except sqlparse.exceptions.SQLParseError as error:
        print(error)


if __name__ == "__main__":
    main()

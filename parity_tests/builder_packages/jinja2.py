"""Templates with inheritance, macros, filters, tests, loops, the sandbox and native types."""

import jinja2
import jinja2.meta
from jinja2 import DictLoader, Environment, StrictUndefined, nodes
from jinja2.ext import Extension
from jinja2.nativetypes import NativeEnvironment
from jinja2.sandbox import SandboxedEnvironment, SecurityError


class Shout(Extension):
    tags = {"shout"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endshout",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_shout"), [], [], body).set_lineno(line)

    def _shout(self, caller):
        return caller().upper()


TEMPLATES = {
    "base.html": "<title>{% block title %}base{% endblock %}</title>{% block body %}{% endblock %}",
    "child.html": "{% extends 'base.html' %}{% from 'macros.html' import field with context %}{% block title %}{{ super() }}+{{ title|e }}{% endblock %}{% block body %}{% for item in items recursive %}{{ loop.index }}/{{ loop.length }}:{{ item|upper|truncate(5) }}{% if not loop.last %}, {% endif %}{% else %}none{% endfor %}{{ field('x', 3) }}{% include 'part.html' %}{% endblock %}",
    "macros.html": "{% macro field(name, value='') %}<{{ name }}={{ value }} {{ varargs }} {{ title }}>{% endmacro %}",
    "part.html": "{% set ns = namespace(total=0) %}{% for i in range(5) if i is odd %}{% set ns.total = ns.total + i %}{% endfor %}{{ ns.total }}",
}


def main() -> None:
    print(jinja2.__version__)
    environment = Environment(
        loader=DictLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        extensions=[Shout, "jinja2.ext.do", "jinja2.ext.loopcontrols"],
    )
    print(environment.get_template("child.html").render(title="<a>", items=["one", "two", "elephants"]))
    text = "{% shout %}hello {{ name }}{% endshout %}{% do seen.append(1) %}{{ seen|length }}"
    print(environment.from_string(text).render(name="you", seen=[]))
    filters = [
        "[3, 1, 2]|sort|join('-')",
        "'a b'|title",
        "{'b': 1, 'a': 2}|dictsort",
        "[1, 2, 3, 4]|batch(2)|list",
        "'x'|center(5)",
        "1234567|filesizeformat",
        "[1, 2, 3]|sum",
        "'%s!'|format('x')",
        "[{'a': 1}, {'a': 2}]|map(attribute='a')|list",
        "[1, none]|select|list",
        "'<b>x</b>'|striptags",
        "'http://a.b/c'|urlize",
        "3.7|round|int",
        "[1, 1, 2]|unique|list",
        "'abc'|reverse",
        "{'a': [1]}|tojson",
        "'w o r'|wordcount",
        "5 is divisibleby 5",
        "'a' in 'abc'",
        "x is defined",
        "none is none",
        "1 if false else 2",
        "[1, 2][-1]",
        "'a' ~ 1",
        "2 ** 3 // 3",
        "{'a': 1}.a",
        "'%.2f' % 2",
    ]
    for text in filters:
        print(text, "=>", environment.from_string("{{ " + text + " }}").render())
    for text in ("{{ x.y.z }}", "{{ missing }}"):
        try:
            print(Environment(undefined=StrictUndefined).from_string(text).render())
        except jinja2.UndefinedError as error:
            print(type(error).__name__, error)
    for text in ("{% if %}", "{{ 1 + }}", "{% unknown %}", "{% for x in y %}"):
        try:
            environment.from_string(text)
        except jinja2.TemplateSyntaxError as error:
            print(error.message, error.lineno)
    try:
        environment.get_template("absent")
    except jinja2.TemplateNotFound as error:
        print("not found", error)
    try:
        SandboxedEnvironment().from_string("{{ ''.__class__.mro() }}").render()
    except SecurityError as error:
        print(error)
    print(NativeEnvironment().from_string("{{ [1, 2] + [x] }}").render(x=3))
    print(environment.parse("{{ a + 1 }}{% if b %}c{% endif %}"))
    print(environment.compile("{{ a }}", raw=True))
    print(sorted(jinja2.meta.find_undeclared_variables(environment.parse("{{ a }}{% set b = c %}"))))
    try:
        environment.from_string("\n{{ 1 / 0 }}").render()
    except ZeroDivisionError as error:
        print(error, error.__traceback__.tb_next is not None)
    print(list(environment.from_string("{% for i in range(3) %}{{ i }}{% endfor %}").generate()))
    print(environment.lex("{{ a }}") is not None, jinja2.utils.generate_lorem_ipsum(n=1, html=False)[:0] == "")


if __name__ == "__main__":
    main()

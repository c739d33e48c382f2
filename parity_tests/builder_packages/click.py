"""Commands, groups, options, arguments, prompts, types, help pages."""

import click
from click.testing import CliRunner


@click.group(chain=False)
@click.option("--debug/--no-debug", default=False, help="Talk more.")
@click.version_option("1.2.3")
@click.pass_context
def cli(ctx, debug):
    """A tool of several commands."""
    ctx.obj = {"debug": debug}


@cli.command()
@click.argument("names", nargs=-1)
@click.option("--count", "-c", default=1, show_default=True, type=click.IntRange(1, 5), help="How often.")
@click.option("--color", type=click.Choice(["red", "green"], case_sensitive=False), default="red")
@click.pass_obj
def greet(obj, names, count, color):
    """Greet NAMES."""
    for name in names:
        for _ in range(count):
            click.echo(click.style(f"Hello {name} {obj}", fg=color))


@cli.command("ask")
@click.option("--name", prompt="Your name")
@click.password_option()
@click.confirmation_option(prompt="Sure?")
def ask(name, password):
    click.secho(f"{name} {len(password)}", bold=True)


@cli.command()
@click.argument("source", type=click.File("r"))
@click.option("--pair", type=(str, int), multiple=True)
@click.option("-v", "--verbose", count=True)
@click.option("--when", type=click.DateTime())
@click.option("--id", type=click.UUID)
def show(source, pair, verbose, when, id):
    for line in source:
        click.echo(line.strip())
    click.echo(f"{pair} {verbose} {when} {id}")


def run(*arguments, **more):
    result = CliRunner().invoke(cli, list(arguments), **more)
    print(
        arguments, result.exit_code, repr(result.exception) if not isinstance(result.exception, SystemExit) else "exit"
    )
    print(result.output)


def main() -> None:
    run("--help")
    run("--version")
    run("greet", "--help")
    run("--debug", "greet", "a", "b", "-c", "2", "--color", "GREEN")
    run("greet", "a", "-c", "9")
    run("greet", "a", "--color", "blue")
    run("greet", "--bad")
    run("nothing")
    run("ask", input="me\nsecret\nsecret\ny\n")
    run("ask", "--name", "x", input="a\nb\nc\nc\nn\n")
    with CliRunner().isolated_filesystem():
        with click.open_file("f.txt", "w") as file:
            file.write("one\ntwo\n")
        result = CliRunner().invoke(
            cli, ["show", "f.txt", "--pair", "a", "1", "--pair", "b", "2", "-vvv", "--when", "2020-01-02"]
        )
        print(result.output)
        run("show", "missing.txt")
        run("show", "f.txt", "--id", "x")
    print(
        click.unstyle(click.style("x", fg="red", underline=True)),
        repr(click.style("x", fg="bright_blue", bg=(1, 2, 3))),
    )
    with CliRunner().isolation():
        pass
    print(click.format_filename("a/b", shorten=True), click.get_text_stream("stdout") is not None)
    context = click.Context(cli, info_name="tool")
    print(cli.get_help(context), cli.to_info_dict(context)["name"], cli.list_commands(context))
    formatter = click.HelpFormatter(width=40)
    formatter.write_usage("prog", "--long argument " * 4)
    formatter.write_dl([("a", "b" * 60), ("ccc", "d")])
    print(formatter.getvalue())
    with click.progressbar([1, 2, 3], label="x") as bar:
        print(list(bar))


if __name__ == "__main__":
    main()

"""How people read a knob: each kind in the several ways that are seen in their files."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Knob:
    """A variable (`FF_X`) or a flag (`--x`), its default, and other texts that it may be set to. Knobs of one `group`
    exclude each other.
    """

    name: str
    kind: str
    default: str
    others: tuple[str, ...]
    group: str = ""


def knob_lines(knob: Knob, name: str, rng: random.Random) -> tuple[list[str], Knob]:
    """Lines that bind `name` to an environment knob, and the knob with the texts that this way of reading takes."""
    variable, default, others = knob.name, knob.default, knob.others
    quoted = f'"{variable}"'
    choices = ", ".join(f'"{choice}"' for choice in (default, *others))
    match knob.kind:
        case "int" | "float" as cast:
            lines = rng.choice(
                [
                    [f"{name} = _env_{cast}({quoted}, {default})"],
                    [f'{name} = {cast}(os.environ.get({quoted}, "{default}"))'],
                    [f"{name} = {cast}(os.getenv({quoted}, {default}))"],
                    [f"{name} = {cast}(os.environ[{quoted}]) if {quoted} in os.environ else {default}"],
                    [f"{name} = {cast}(os.environ.get({quoted}) or {default})"],
                    [f'{name}_TEXT = os.environ.setdefault({quoted}, "{default}")', f"{name} = {cast}({name}_TEXT)"],
                    [
                        "try:",
                        f"    {name} = {cast}(os.environ[{quoted}])",
                        "except KeyError:",
                        f"    {name} = {default}",
                    ],
                    [
                        f"{name} = {default}",
                        f"if {quoted} in os.environ:",
                        f"    {name} = {cast}(os.environ[{quoted}])",
                    ],
                ]
            )
        case "bool":
            lines = rng.choice(
                [
                    [f"{name} = _env_bool({quoted})"],
                    [f'{name} = os.environ.get({quoted}, "0") == "1"'],
                    [f'{name} = bool(int(os.getenv({quoted}, "0")))'],
                    [f"{name} = {quoted} in os.environ"],
                    [f"{name} = os.getenv({quoted}) is not None"],
                    [f'{name} = os.environ.get({quoted}, "").strip().lower() in ("1", "true", "yes")'],
                    [f"{name} = bool(os.environ.get({quoted}))"],
                ]
            )
        case "choice":
            lines = rng.choice(
                [
                    [f'{name} = _env_choice({quoted}, "{default}", ({choices}))'],
                    [f'{name} = os.environ.get({quoted}, "{default}")'],
                    [
                        f'{name} = os.getenv({quoted}, "{default}").lower()',
                        f"assert {name} in ({choices}), {name}",
                    ],
                    [
                        f'{name} = os.environ.get({quoted}, "{default}")',
                        f"if {name} not in [{choices}]:",
                        f'    raise SystemExit(f"{variable}={{{name}!r}}?")',
                    ],
                ]
            )
        case "list":
            lines = rng.choice(
                [
                    [f"{name} = _env_list({quoted}, ({default},))"],
                    [f'{name} = tuple(int(x) for x in os.environ.get({quoted}, "{default}").split(","))'],
                    [f'{name} = [int(x) for x in os.getenv({quoted}, "{default}").split(",") if x.strip()]'],
                ]
            )
        case _:
            assert knob.kind == "str"
            text = "" if default == "-" else default
            lines = [f'{name} = os.environ.get({quoted}, "{text}")']
            knob = replace(knob, default=text)
    return lines, knob


def flag_lines(knob: Knob, name: str, rng: random.Random) -> tuple[list[str], list[str]]:
    """Lines that add a flag to `parser`, and lines for behind `parser.parse_args()`."""
    flag, default = f'"{knob.name}"', knob.default
    match knob.kind:
        case "store_true":
            return [f'parser.add_argument({flag}, action="store_true")'], []
        case "bool":
            return [f"parser.add_argument({flag}, action=argparse.BooleanOptionalAction, default=False)"], []
        case "choice":
            choices = ", ".join(f'"{choice}"' for choice in (default, *knob.others))
            return [f'parser.add_argument({flag}, choices=[{choices}], default="{default}")'], []
        case "ints":
            return [f'parser.add_argument({flag}, type=int, nargs="*", default=[])'], []
        case "int" | "float" as cast if default != "none":
            variable = f"FF_{name.upper()}_FLAG"
            return rng.choice(
                [
                    ([f"parser.add_argument({flag}, type={cast}, default={default})"], []),
                    ([f'parser.add_argument({flag}, type={cast}, default={default}, help="see {name}")'], []),
                    ([f"parser.add_argument({flag}, type={cast}, default=_env_{cast}({variable!r}, {default}))"], []),
                    (
                        [f"parser.add_argument({flag}, type={cast}, default=None)"],
                        [f"if args.{name} is None:", f"    args.{name} = {default}"],
                    ),
                ]
            )
    return [f"parser.add_argument({flag}, type=float, default=None)"], []

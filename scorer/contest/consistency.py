"""Fields of a profile that must go together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scorer.contest.schema import Profile

Place = tuple[int | str, ...]


class Contradiction(NamedTuple):
    """A field that does not go with another one."""

    place: Place
    expected: str
    found: object
    remedy: str = "make the two agree"


def contradictions(profile: Profile) -> Iterator[Contradiction]:
    """Every field that does not go with another one, and what that one asks for."""
    yield from _of_files(profile)
    yield from _of_launch(profile)
    yield from _of_evaluation(profile)
    yield from _of_clock_trial(profile)
    yield from _of_kit(profile)


def _of_files(profile: Profile) -> Iterator[Contradiction]:
    files, script = profile.files, profile.launch.script
    required = [file.name for file in files.submission if file.required]
    if script not in required:
        expected = f"a required file of files.submission: {', '.join(required) or 'none'}"
        yield Contradiction(("launch", "script"), expected, script)
    for index, hook in enumerate(profile.hooks):
        if not files.allows(hook.file):
            yield Contradiction(("hooks", index, "file"), "a file that files.submission allows", hook.file)
    if not files.checkpoint.startswith(f"{files.output_directory}/"):
        expected = f"a file below files.output_directory, {files.output_directory}/"
        yield Contradiction(("files", "checkpoint"), expected, files.checkpoint)


def _of_launch(profile: Profile) -> Iterator[Contradiction]:
    launch, cores = profile.launch, profile.machine.cores
    if cores is not None and max(launch.nproc_per_node) > cores:
        expected = f"at most one process for each of machine.cores, {cores}"
        yield Contradiction(("launch", "nproc_per_node"), expected, max(launch.nproc_per_node))
    for variable in launch.environment:
        if profile.environment.ruling(variable) == "refuse":
            expected = "variables that environment.policy does not refuse"
            yield Contradiction(("launch", "environment", variable), expected, variable, "allow it there")


def _of_evaluation(profile: Profile) -> Iterator[Contradiction]:
    evaluation, script = profile.evaluation, profile.launch.script
    scored = [hook.name for hook in profile.hooks_of(script)]
    if evaluation.hook not in scored:
        expected = f"a hook of {script}: {', '.join(scored) or 'none'}"
        yield Contradiction(("evaluation", "hook"), expected, evaluation.hook)
    total = sum(part.weight for part in evaluation.score)
    if abs(total - 1) > 1e-9:
        yield Contradiction(("evaluation", "score"), "weights that add up to 1", total, "correct the weights")
    if profile.lockstep.census_update >= profile.lockstep.window_updates:
        expected = f"an update of the window, 0 to {profile.lockstep.window_updates - 1}"
        yield Contradiction(("lockstep", "census_update"), expected, profile.lockstep.census_update)


def _of_clock_trial(profile: Profile) -> Iterator[Contradiction]:
    trial = profile.clock_trial
    for index, script in enumerate(trial.scripts):
        if script.start_up_seconds <= trial.unseen_seconds:
            expected = f"more than clock_trial.unseen_seconds, {trial.unseen_seconds:g}, which is a part of it"
            place: Place = ("clock_trial", "scripts", index, "start_up_seconds")
            yield Contradiction(place, expected, script.start_up_seconds)


def _of_kit(profile: Profile) -> Iterator[Contradiction]:
    kit = profile.kit
    known = {*kit.symbols, *kit.optional_symbols}
    named: list[tuple[Place, str]] = [(("kit", "functions", role), name) for role, name in kit.functions]
    named += [(("kit", "constants", name), name) for name in kit.constants]
    named += [(("kit", "calls", name), name.partition(".")[0]) for name in kit.calls]
    for place, name in named:
        if name not in known:
            expected = "one of kit.symbols or kit.optional_symbols"
            yield Contradiction(place, expected, name, "add it to one of them, or correct its spelling")
    tokens: list[tuple[Place, int]] = [(("kit", "bos_token_id"), kit.bos_token_id)]
    tokens += [(("kit", "special_token_ids", index), token) for index, token in enumerate(kit.special_token_ids)]
    for place, token in tokens:
        if token >= kit.vocab_size:
            yield Contradiction(place, f"a token below kit.vocab_size, {kit.vocab_size}", token)

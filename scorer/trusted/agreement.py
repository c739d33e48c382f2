"""Scores that should agree: the judge's, the recipe's own and the organiser's, under equal settings only."""

from __future__ import annotations

from collections.abc import Sequence

from scorer.contest import EvaluationSettings, Profile
from scorer.findings import Finding, Place, define, finding
from scorer.room.receipts import Checkpoint, Evaluation, Receipt
from scorer.trusted import settings as ways
from scorer.trusted.sources import Source

SCR001 = define(
    "SCR001",
    title="The trusted score is not the recipe's own",
    why="Same checkpoint, same tokens, another number: the hook rebuilds another model than the one that was "
    "trained, or the recipe measures it otherwise.",
    remedy="Compare the hook with how the recipe builds its model: dtype, flags, weights that are not saved, code "
    "that runs under __main__ only.",
)
SCR002 = define(
    "SCR002",
    title="The trusted score is not the organiser's",
    why="The kit's own command, run on the same file, checkpoint and tokens, gives another number: the leaderboard "
    "will not show what the judge says.",
    remedy="Look for what differs between the two processes: module name, working directory, what the import does.",
)
SCR003 = define(
    "SCR003",
    title="Two scores are not comparable",
    why="They were measured over other tokens, bytes, context, split or checkpoints; a difference means nothing.",
    remedy="Measure both under the same settings on the same checkpoint.",
)
SCR005 = define(
    "SCR005",
    title="The organiser's command gives no score",
    why="What the organiser's own command cannot score will not be scored after the upload.",
    remedy="Run the kit's command on the file and checkpoint by hand; the message holds its last words.",
)
SCR007 = define(
    "SCR007",
    title="The recipe's own measurement cannot be read",
    why="Without it the trusted score has nothing on the recipe's side to agree with.",
    remedy="Print the whole summary block: eval_split, eval_seq_len, eval_batch_size, eval_tokens, eval_bytes, "
    "memory_total_nats, checkpoint_total_nats.",
)


def with_recipe(
    source: Source,
    profile: Profile,
    local: Receipt,
    scored: Checkpoint,
    local_settings: EvaluationSettings,
    evaluations: Sequence[Evaluation],
) -> list[Finding]:
    """The trusted score under the local lane's settings against the recipe's measurement of the same checkpoint."""
    recipe = next(e for e in ways.recipe_evaluations(local) if e.name == ways.RECIPE_CHECKPOINT)
    ours = ways.trusted(evaluations, local_settings)
    if ours is None:
        return []
    if local.checkpoint is not None and local.checkpoint.tensor_hashes != scored.tensor_hashes:
        different = sorted(
            key
            for key in local.checkpoint.tensor_hashes.keys() | scored.tensor_hashes.keys()
            if local.checkpoint.tensor_hashes.get(key) != scored.tensor_hashes.get(key)
        )
        message = (
            f"the recipe measured another checkpoint than the one scored here: {len(different)} tensors differ, "
            f"the first is {different[0]}"
        )
        return [source.raise_at(SCR003, message, source.save(), evidence={"tensors": different[:10]})]
    return _same(source, profile, SCR001, "the recipe's own evaluation", recipe, ours, _measured_at(local))


def with_public(
    source: Source, profile: Profile, public: Evaluation, evaluations: Sequence[Evaluation]
) -> list[Finding]:
    """The trusted score under the public settings, on one rank, against the organiser's command."""
    ours = ways.trusted(evaluations, ways.one_rank(profile))
    return [] if ours is None else _same(source, profile, SCR002, "the kit's own command", public, ours)


def _measured_at(local: Receipt) -> Place | None:
    """The last line of the recipe that called the kit's evaluation."""
    sites = [event.site for rank in local.ranks for event in rank.events if event.kind == "evaluate" and event.site]
    return Place(file=sites[-1].file, line=sites[-1].line) if sites else None


def _same(
    source: Source,
    profile: Profile,
    code: str,
    who: str,
    theirs: Evaluation,
    ours: Evaluation,
    measured_at: Place | None = None,
) -> list[Finding]:
    line = source.loader()
    for what in ("split", "seq_len", "world_size", "num_tokens", "num_bytes"):
        here, there = getattr(ours, what), getattr(theirs, what)
        if here != there:
            message = f"{who} has {what} {there}, the trusted score {here}: the numbers are not compared"
            evidence = {"setting": what, "theirs": there, "ours": here}
            if measured_at is not None:
                return [finding(SCR003, message, place=measured_at, lane="local", evidence=evidence)]
            return [source.raise_at(SCR003, message, line, evidence=evidence)]
    apart = float.fromhex(theirs.val_bpb) - float.fromhex(ours.val_bpb)
    if abs(apart) <= profile.evaluation.agreement_bpb:
        return []
    message = (
        f"{who} says {float.fromhex(theirs.val_bpb):.6f} bpb, the trusted score is {float.fromhex(ours.val_bpb):.6f}: "
        f"{apart:+.6f}, allowed {profile.evaluation.agreement_bpb:g}"
    )
    return [source.raise_at(code, message, line, evidence={"theirs": theirs.val_bpb, "ours": ours.val_bpb})]

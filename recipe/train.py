"""Trains the model until the clock says stop, and saves it.

    torchrun --standalone --nproc_per_node=N train.py

Data parallel over N ranks: each sees its own batches, gradients are averaged, and every rank ends each update with the
same weights. All time from launch to the end of the process counts as contest.md says; the last update ends early
enough to save within the budget. Offers `load_for_eval(checkpoint_path, device)` to the scorer.
"""

from __future__ import annotations

import sys
import time

import prepare
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

from recipe.average import RowAverage, blend, make_average
from recipe.checkpoint import CHECKPOINT, load_model, save_checkpoint
from recipe.config import Config, load_config
from recipe.data import Batches, training_batches
from recipe.gradients import average_gradients
from recipe.model import GPT, activation_dtype, make_model
from recipe.moe import active_parameters
from recipe.ngram_training import make_ngram_training
from recipe.optim import make_optimizers, set_learning_rate
from recipe.overlap import OverlappedSharing, make_overlapped_gradients
from recipe.ranks import Ranks, agree, join, leave, share_parameters, synchronize
from recipe.row_table import clip_with_rows, dense_parameters, row_optimizer
from recipe.schedule import ChargedClock, learning_rate_multiplier, micro_batches_of
from recipe.sharding import consolidated, local_shards, make_sharded_optimizers, shard


def main(config: Config) -> None:
    """Train, save `out/final.pt`, print the summary."""
    train(config)


def load_for_eval(checkpoint_path: str, device: str | torch.device) -> nn.Module:
    """The trained model on one device, in eval mode: forward(tokens [B, T]) -> logits [B, T, V].

    The model is consolidated, stateless, causal, and takes any sequence length. Raises ValueError when the checkpoint
    is not this program's.
    """
    return load_model(checkpoint_path, device, load_config())


def train(config: Config) -> GPT:
    """Train and save; returns the model as it stood before it was saved. Every rank of the launch calls this."""
    clock = ChargedClock(
        started=time.monotonic(),
        budget=prepare.TRAIN_TIME_BUDGET_SECONDS,
        allowance=prepare.TRAIN_STARTUP_ALLOWANCE_CAP_SECONDS,
        excluded_updates=prepare.TRAIN_STARTUP_STEPS_EXCLUDED,
        margin=config.startup_margin_seconds,
        reserve=config.reserve_seconds,
        save_factor=config.save_factor,
        exit_seconds=config.exit_seconds,
    )
    ranks = join(config)
    torch.manual_seed(config.seed)
    model = make_model(config, activation_dtype(config, ranks.device))
    model.initialize()  # on the CPU, from the same seed: the same weights on every rank and every device
    model.to(ranks.device)
    if config.compile:
        compile_whole(config, model)
    if config.sharding == "fsdp":
        shard(config, ranks, model)
        optimizers = make_sharded_optimizers(config, model, ranks)
    else:
        optimizers, owned = make_optimizers(config, model, ranks)
    parameters = list(model.parameters())
    num_params = sum(parameter.numel() for parameter in parameters)
    if config.bigram_rows > 0:
        parameters = dense_parameters(model)
        pairs = row_optimizer(optimizers)
    if config.world_size > 1 and config.overlap:
        reduction = make_overlapped_gradients(config, parameters)
        sharing = OverlappedSharing(ranks, optimizers, owned)
    if config.ema_decay > 0.0:
        if config.sharding == "fsdp":
            average = make_average(config, local_shards(parameters))
        else:
            average = make_average(config, owned[ranks.rank])
        if config.bigram_rows > 0:
            pair_average = RowAverage(pairs.table.weight, decay=config.ema_decay)
    batches = training_batches(config, ranks.device)
    if config.ngram != "none":
        ngrams = make_ngram_training(config, ranks, model)
        batches = ngrams.watching(batches)

    if config.safety_save_every > 0.0:
        next_save = config.safety_save_every

    step = tokens = 0
    while True:
        progress, stop = decide(config, clock, step)
        if config.world_size > 1:
            progress, stop = agree(ranks, (progress, stop))
        if stop:
            break
        save_now = step == prepare.TRAIN_STARTUP_STEPS_EXCLUDED - 1  # in free time: it tells what the last save takes
        if config.safety_save_every > 0.0 and progress >= next_save:
            save_now = True
            next_save = progress + config.safety_save_every
        if save_now:
            began = time.monotonic()
            save(config, ranks, model, step, tokens)
            clock.save_done(began, time.monotonic())
        if config.batch_warmup_fraction > 0.0:
            micro_batches = micro_batches_of(config, progress)
        else:
            micro_batches = config.micro_batches
        multiplier = learning_rate_multiplier(config, progress)
        set_learning_rate(optimizers, multiplier)
        if config.world_size > 1 and config.overlap:
            reduction.expect(micro_batches)
        try:
            loss, epoch = backward(config, model, batches, micro_batches)
            if config.world_size > 1 and config.sharding == "none":
                if config.overlap:
                    reduction.finish()
                else:
                    average_gradients(config, parameters)
            if config.bigram_rows > 0:
                pairs.collect()
        except RuntimeError as error:
            raise failed(config, ranks, model, step, tokens) from error
        if config.clip > 0.0:  # of the averaged ones, so by the same factor on every rank
            if config.bigram_rows > 0:
                clip_with_rows(config, parameters, pairs)
            else:
                clip_grad_norm_(parameters, config.clip)
        if config.ema_decay > 0.0 and config.bigram_rows > 0:
            pair_average.before(pairs.rows)
        for optimizer in optimizers:
            optimizer.step()
            if config.world_size > 1 and config.overlap:
                sharing.begin(optimizer)
        if config.ema_decay > 0.0:
            average.step()
            if config.bigram_rows > 0:
                pair_average.after(pairs.rows)
            if config.ema_prewarm > 0.0 and progress < config.ema_prewarm:
                average.total = 0.0  # to begin anew; it runs from the first update on, so that nothing compiles later
                if config.bigram_rows > 0:
                    pair_average.restart()
        if config.world_size > 1 and config.sharding == "none":
            if config.overlap:
                sharing.finish()
            else:
                share_parameters(config, ranks, owned)
        if config.ngram != "none":
            ngrams.learn()
        model.zero_grad(set_to_none=True)
        synchronize(config)
        prepare.record_step_boundary(step)
        now = time.monotonic()
        clock.update_done(now)
        seconds = clock.last_update_seconds
        seen = micro_batches * config.tokens_per_micro_batch  # tokens of all ranks
        if config.log_every == 1 or step % config.log_every == 0:
            prepare.print0(
                f"step {step:05d} | loss {loss:.4f} | lrm {multiplier:.3f} | dt {seconds:.2f}s"
                f" | tok/s {seen / max(seconds, 1e-9):,.0f}"
                f" | remaining_time {clock.remaining(now):.0f}s | epoch {epoch}"
            )
        step += 1
        tokens += seen

    if config.ema_decay > 0.0:
        if config.ema_blend < 1.0:
            blend(average, config.ema_blend)
        average.put_in_place()
        if config.bigram_rows > 0:
            pair_average.finish()
            if config.ema_blend < 1.0:
                blend(pair_average, config.ema_blend)
            pair_average.put_in_place()
        if config.world_size > 1 and config.sharding == "none":
            share_parameters(config, ranks, owned)
    if config.sharding == "fsdp":
        model = consolidated(config, ranks, model)
    save(config, ranks, model, step, tokens)
    if config.world_size > 1:
        leave()
    print_summary(config, clock, step, tokens, num_params)
    if config.experts > 0:
        prepare.print0(f"active_params_M: {active_parameters(model) / 1e6!r}")
    return model


def compile_whole(config: Config, model: GPT) -> None:
    """Make the forward pass with the loss one compiled graph, and its backward pass another.

    Every update has the same shapes, so both are compiled in the first one, which is start-up.
    """
    model.compile(backend="neuron" if config.device == "neuron" else "inductor", fullgraph=True, dynamic=False)


def save(config: Config, ranks: Ranks, model: GPT, step: int, tokens: int) -> None:
    """Leave the model after `step` updates, in the place of what was saved before. A run that is killed leaves that."""
    if config.sharding == "fsdp":
        model = consolidated(config, ranks, model)  # with every rank's help
    if ranks.rank == 0:
        save_checkpoint(model, config, meta_of(config, step, tokens))


def meta_of(config: Config, step: int, tokens: int) -> dict[str, int | float]:
    """What a checkpoint tells of its run."""
    return {"step": step, "total_train_tokens": tokens, "world_size": config.world_size}


def failed(config: Config, ranks: Ranks, model: GPT, step: int, tokens: int) -> RuntimeError:
    """The error that ends a run whose update `step` failed on this rank before it moved a weight: on the device, or by
    a rank that was waited for too long.

    All ranks have the weights that the updates before it left, so this one leaves them: rank 0 may be the one that
    hangs. Of shards no rank has the whole; what was saved last stays.
    """
    reason = f"update {step} failed on rank {ranks.rank}: "
    if config.sharding == "fsdp":
        return RuntimeError(f"{reason}{CHECKPOINT} is what was saved last, if anything was")
    save_checkpoint(model, config, meta_of(config, step, tokens), ranks.rank)
    return RuntimeError(f"{reason}{CHECKPOINT} has the weights after {step} updates")


def decide(config: Config, clock: ChargedClock, step: int) -> tuple[float, float]:
    """(progress in 0 to 1, whether to stop as 0.0 or 1.0) by this rank's clock, before update `step`."""
    now = time.monotonic()
    stop = clock.must_stop(now)
    progress = clock.progress(now)
    if config.num_steps > 0:
        stop = stop or step >= config.num_steps
        progress = min(1.0, step / config.num_steps)
    return progress, float(stop)


def backward(config: Config, model: GPT, batches: Batches, micro_batches: int) -> tuple[float, int]:
    """Accumulate the gradients of one update; returns this rank's mean loss, and the epoch."""
    total = 0.0
    epoch = 0
    for _ in range(micro_batches):
        inputs, targets, state = next(batches)
        loss = model(inputs, targets)
        if config.micro_batches > 1:
            loss = loss / micro_batches
        loss.backward()
        total += loss.item()
        epoch = state["epoch"]
    return total, epoch


def print_summary(config: Config, clock: ChargedClock, steps: int, tokens: int, num_params: int) -> None:
    """Print what the run was and took, after a line of dashes."""
    now = time.monotonic()
    prepare.print0("---")
    prepare.print0(f"checkpoint_path: {CHECKPOINT.as_posix()}")
    prepare.print0(f"training_seconds: {now - clock.started!r}")
    prepare.print0(f"charged_seconds_est: {clock.charged(now)!r}")
    prepare.print0(f"over_budget: {clock.remaining(now) < 0.0}")
    prepare.print0(f"num_steps: {steps}")
    prepare.print0(f"total_tokens_M: {tokens / 1e6!r}")
    prepare.print0(f"world_size: {config.world_size}")
    prepare.print0(f"seq_len: {config.seq_len}")
    prepare.print0(f"num_params_M: {num_params / 1e6!r}")


if __name__ == "__main__":
    main(load_config(sys.argv[1:]))

"""The model process: it holds the submission's model, takes token ids and gives back logits. It never sees a target.

Run as `python host SETTINGS` in a room of its own, under the package name `scorer_host`: nothing of ours comes onto
the path from which a submission imports, and it imports nothing of ours. The process that is started imports torch and
the device's module, and runs no line of a submission: each submission runs in a fork of it, as often as the judge asks,
with a channel, a log and a memory of its own, which come over the socket.

    forking        takes the judge's orders and forks
    serving        answers the commands about one submission: import, load, forward, ...
    watching       what the submission writes, starts and connects to
    surroundings   what it replaced, hooked or left switched on outside of itself
    collectives    its calls of torch.distributed
    launches       kernels that ran
    training       backward passes and optimizer steps
    tracing        the first module of a model whose outputs differ between two runs
    summaries      hashes and words for what a model keeps

Nothing that it says is trusted further than it can hurt the submission: the judge measures the bytes in the slots.
"""

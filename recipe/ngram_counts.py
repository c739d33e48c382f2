"""N-gram counts: which followers each context had, counted from the training batches while the network trains.

Every order has slots, each with room for one context and a few of its followers. A context that hashes to a taken slot
wears down the strength of the holder, which is its count, and takes the slot over when nothing of it is left; of the
followers the most frequent stay (as Misra and Gries, 1982). Counts are integers, and do not depend on the order of the
tokens within an update: any number of ranks that together see the same tokens counts the same.

Each rank keeps the slots whose number modulo the number of ranks is its own, and counts the tokens of all ranks in
them. That is work for the host, next to what the device does, on NumPy: torch takes several times as long to sort.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from recipe.ngram import CHECK_BITS, EMPTY, MAX_TOKENS, NO_CONTEXT, contexts_of

NOBODY = -1  # the follower in a place that is free

Whole = NDArray[np.int64]


class NgramCounts:
    """The counts of one rank's slots. Its row r is row r * ranks + rank of all ranks together, an order's slots one
    after the other, order by order.
    """

    def __init__(
        self, orders: Sequence[int], slots: int, followers: int, vocabulary: int, rank: int, world_size: int
    ) -> None:
        """`slots`: of an order, on all ranks together; `followers`: that a slot has room for."""
        self.orders = orders
        self.slots = slots
        self.vocabulary = vocabulary
        self.rank = rank
        self.world_size = world_size
        rows = len(orders) * slots // world_size
        self.check = np.full(rows, EMPTY, np.int32)
        self.strength = np.zeros(rows, np.int32)
        self.total = np.zeros(rows, np.int32)  # tokens behind the context since it took the slot
        self.below = np.full(rows, -1, np.int32)  # the row, of all ranks', and ...
        self.below_check = np.full(rows, EMPTY, np.int32)  # ... the check of the context of the next lower order
        self.follower = np.full((rows, followers), NOBODY, np.int32)
        self.count = np.zeros((rows, followers), np.int32)
        self.changed = np.zeros(rows, np.bool_)  # since somebody last looked, who says so here
        self.alone = np.zeros(vocabulary, np.int64)  # tokens, whatever the context

    def add(self, rows: Tensor) -> None:
        """Count rows of tokens [N, T + 1], those of all ranks; rows of negative numbers count for nothing."""
        counted = rows[rows[:, 0] >= 0]
        if counted.size(0) == 0:
            return
        targets = counted[:, 1:].numpy().astype(np.int64).ravel()
        self.alone += np.bincount(targets, minlength=self.vocabulary)
        row_below, check_below = np.full_like(targets, -1), np.full_like(targets, EMPTY)
        pairs, rows_below, checks_below = [], [], []
        for place, (slots, checks) in enumerate(contexts_of(counted[:, :-1], self.orders, self.slots)):
            slot, check = slots.numpy().ravel(), checks.numpy().ravel()
            mine = np.flatnonzero((slot % self.world_size == self.rank) & (check != NO_CONTEXT))
            row, check = slot.astype(np.int64) + place * self.slots, check.astype(np.int64)
            context = (row[mine] // self.world_size << CHECK_BITS) + check[mine]
            pairs.append(context * MAX_TOKENS + targets[mine])
            rows_below.append(row_below[mine])
            checks_below.append(check_below[mine])
            row_below, check_below = row, check
        self._merge(np.concatenate(pairs), np.concatenate(rows_below), np.concatenate(checks_below))

    def _merge(self, pairs: Whole, rows_below: Whole, checks_below: Whole) -> None:
        order = np.argsort(pairs)
        pair, first, count = _runs(pairs[order])
        context, start, _ = _runs(pair // MAX_TOKENS)
        example = order[first[start]]  # a place where the context was seen
        holds = self._settle(context, np.add.reduceat(count, start), rows_below[example], checks_below[example])
        kept = np.flatnonzero(np.repeat(holds, np.diff(start, append=pair.size)))
        pair = pair[kept]
        self._follow(pair // (MAX_TOKENS << CHECK_BITS), pair % MAX_TOKENS, count[kept])

    def _settle(self, context: Whole, seen: Whole, row_below: Whole, check_below: Whole) -> NDArray[np.bool_]:
        """Contexts, ascending, with how often they were seen -> which of them hold their slots from now on."""
        row, check = context >> CHECK_BITS, context % 2**CHECK_BITS
        holds = self.check[row] == check
        self.strength[row[holds]] += seen[holds]
        # Of the others that want a slot the most frequent is heard, of equals the one with the lowest check.
        others = np.flatnonzero(~holds)
        bid = (seen[others] << CHECK_BITS) + 2**CHECK_BITS - 1 - check[others]
        _, start, several = _runs(row[others])
        heard = others[bid == np.repeat(np.maximum.reduceat(bid, start) if start.size else bid, several)]
        place = row[heard]
        self.strength[place] -= seen[heard]
        wins = (self.strength[place] < 0) | (self.check[place] == EMPTY)
        heard, place = heard[wins], place[wins]
        self.check[place] = check[heard]
        self.strength[place] = seen[heard]
        self.total[place] = 0
        self.below[place] = row_below[heard]
        self.below_check[place] = check_below[heard]
        self.follower[place] = NOBODY
        self.count[place] = 0
        holds = self.check[row] == check
        self.total[row[holds]] += seen[holds]
        self.changed[row[holds]] = True
        return np.asarray(holds)

    def _follow(self, row: Whole, follower: Whole, count: Whole) -> None:
        """Count pairs of row and follower, which all differ, ascending."""
        same = self.follower[row] == follower[:, np.newaxis]
        known = same.any(1)
        self.count[row[known], same[known].argmax(1)] += count[known]
        new = np.flatnonzero(~known)
        rank = MAX_TOKENS - np.minimum(count[new], MAX_TOKENS)
        new = new[
            np.argsort((row[new] * MAX_TOKENS + rank) * MAX_TOKENS + follower[new])
        ]  # of a row the frequent first
        _, start, several = _runs(row[new])
        turn = np.arange(new.size) - np.repeat(start, several)
        come = turn < self.count.shape[1]
        new, turn = new[come], turn[come]
        weakest = self.count[row[new]].argsort(1, kind="stable")[np.arange(new.size), turn]
        come = count[new] >= self.count[row[new], weakest]
        new, weakest = new[come], weakest[come]
        self.follower[row[new], weakest] = follower[new]
        self.count[row[new], weakest] = count[new]


def _runs(values: Whole) -> tuple[Whole, Whole, Whole]:
    """Values in which equals stand together -> each value once, where its run begins, and how long that is."""
    first = np.flatnonzero(np.diff(values, prepend=-1))
    return values[first], first, np.diff(first, append=values.size)

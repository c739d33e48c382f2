"""The rows of the n-gram table, made of counts: which followers a context has, and with which probability.

A context of order n whose followers were seen c(v) times, D (DISCOUNT) less of which count, predicts

    p_n(v) = (c(v) - D + A p_m(v)) / (N + STRENGTH)        A: what is left of N + STRENGTH, N tokens behind the context

where p_m is what its suffix of the next lower order m predicts, or the share of v among all tokens where that has no
row: interpolation with a discount (Ney, Essen and Kneser, 1994) and the prior weight of Dirichlet. What no order has
counted thus keeps its share, times a factor that is the same for all such tokens, the row's `rest`: a row names the few
followers that rise above that.

A context that holds no slot has no row: the next lower one predicts in its place.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recipe.ngram import EMPTY
from recipe.ngram_counts import NOBODY, NgramCounts, Whole

Real = NDArray[np.float32]

STRENGTH = 0.3  # tokens' worth of belief in what the lower order predicts
DISCOUNT = 0.5


class NgramRows:
    """All ranks' rows, of which one part after another is made anew."""

    def __init__(self, counts: NgramCounts, parts: int) -> None:
        """`parts`: that the whole table is made in."""
        self.counts = counts
        self.parts = parts
        rows, followers = counts.check.size * counts.world_size, counts.follower.shape[1]
        self.check = np.full(rows, EMPTY, np.int32)
        self.follower = np.tile(np.arange(followers, dtype=np.int32), (rows, 1))
        self.probability = np.zeros((rows, followers), np.float32)
        self.rest = np.ones(rows, np.float32)  # the factor that a prediction shares with those of all other tokens

    def packed(self, part: int) -> NDArray[np.int32]:
        """This rank's rows of a part: check, rest, followers and probabilities side by side, fp32 as its bits. Those
        are made anew whose counts have changed.
        """
        counts, followers = self.counts, self.follower.shape[1]
        first, end = self._span(part)
        here = np.arange(first, end) * counts.world_size + counts.rank
        packed = np.empty((end - first, 2 + 2 * followers), np.int32)
        packed[:, 0] = self.check[here]
        packed[:, 1] = self.rest[here].view(np.int32)
        packed[:, 2 : 2 + followers] = self.follower[here]
        packed[:, 2 + followers :] = self.probability[here].view(np.int32)
        new = np.flatnonzero(counts.changed[first:end])
        counts.changed[first:end] = False
        rest, follower, probability = self._predictions(new + first)
        packed[new, 0] = counts.check[new + first]
        packed[new, 1] = rest.view(np.int32)
        packed[new, 2 : 2 + followers] = follower
        packed[new, 2 + followers :] = probability.view(np.int32)
        return packed

    def all_anew(self) -> None:
        """All rows are to be made anew: their own counts may not have changed, but those of a lower order."""
        self.counts.changed[:] = True

    def put(self, part: int, packed: NDArray[np.int32]) -> Whole:
        """Take the part in as all ranks have made it, in the order of the rows; says which rows that are."""
        first, end = self._span(part)
        rows = np.arange(first * self.counts.world_size, end * self.counts.world_size)
        real, followers = packed.view(np.float32), self.follower.shape[1]
        self.check[rows] = packed[:, 0]
        self.rest[rows] = real[:, 1]
        self.follower[rows] = packed[:, 2 : 2 + followers]
        self.probability[rows] = real[:, 2 + followers :]
        return rows

    def _span(self, part: int) -> tuple[int, int]:
        here = self.counts.check.size
        return part * here // self.parts, (part + 1) * here // self.parts

    def _predictions(self, rows: NDArray[np.int64]) -> tuple[Real, Whole, Real]:
        """This rank's rows by number -> rest [N], followers [N, F], their probabilities [N, F]."""
        counts = self.counts
        share = ((counts.alone + 1) / (counts.alone + 1).sum()).astype(np.float32)
        own, total = counts.follower[rows], counts.total[rows].astype(np.float32)
        left = np.maximum(counts.count[rows].astype(np.float32) - np.float32(DISCOUNT), 0.0)
        prior = STRENGTH + total - left.sum(1)
        below = counts.below[rows]
        known = (below >= 0) & (self.check[below] == counts.below_check[rows])
        rest_below = np.where(known, self.rest[below], np.float32(1.0))
        others = np.where(known[:, np.newaxis], self.follower[below], NOBODY)
        others_below = np.where(known[:, np.newaxis], self.probability[below], np.float32(0.0))
        same = own[:, :, np.newaxis] == others[:, np.newaxis, :]
        own_below = (others_below[:, np.newaxis, :] * same).sum(2)
        own_below = np.where(same.any(2), own_below, share[own] * rest_below[:, np.newaxis])
        # The followers of both orders compete for the places of the row: those stay that rise most above their shares.
        follower = np.concatenate((own, others), 1)
        below_them = np.concatenate((own_below, others_below), 1)
        counted = np.concatenate((left, np.zeros_like(others_below)), 1)
        probability = (counted + prior[:, np.newaxis] * below_them) / (STRENGTH + total)[:, np.newaxis]
        rest = rest_below * prior / (STRENGTH + total)
        rise = probability - share[follower] * rest[:, np.newaxis]
        rise[:, own.shape[1] :][same.any(1)] = 0.0
        rise[follower == NOBODY] = 0.0
        best = np.argsort(-rise, 1, kind="stable")[:, : own.shape[1]]
        follower, probability, rise = (np.take_along_axis(each, best, 1) for each in (follower, probability, rise))
        free = rise <= 0.0
        follower = np.where(free, _others(np.where(free, NOBODY, follower)), follower)
        return rest, follower, np.where(free, share[follower] * rest[:, np.newaxis], probability)


def _others(follower: Whole) -> Whole:
    """Rows of followers [N, F] -> as many tokens that the row does not have, all different."""
    width = follower.shape[1]
    used = (follower[:, :, np.newaxis] == np.arange(2 * width)).any(1)
    return np.argsort(used, 1, kind="stable")[:, :width]

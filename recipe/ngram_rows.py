"""The rows of the n-gram table, made of counts: which followers of a context become likelier, and by how much.

A context of order n whose followers were seen c(v) times, D less of which count, predicts

    p_n(v) = (c(v) - D + A p_m(v)) / (N + STRENGTH)        A: what is left of N + STRENGTH, N tokens behind the context

where p_m is what its suffix of the next lower order m predicts, or the share of v among all tokens where that has no
row: interpolation with a discount (Ney, Essen and Kneser, 1994) and the prior weight of Dirichlet. Relative to the
tokens' shares this is, but for a factor that is the same for all v and that no softmax sees,

    log p_n(v) / share(v) = gain_n(v) = gain_m(v) + log(1 + (c(v) - D) / (A p_m(v)))

so a row needs to hold only the few followers with a gain. D is DISCOUNT as long as what is predicted was never counted.
Text that is met again, in a second epoch, was: from then on D is LEAVE_ONE_OUT, so that other occurrences predict it,
as they would new text. A context without a follower that counts has no row: the next lower one predicts in its place.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recipe.ngram import EMPTY
from recipe.ngram_counts import NOBODY, NgramCounts, Whole

Real = NDArray[np.float32]

STRENGTH = 0.3  # tokens' worth of belief in what the lower order predicts
DISCOUNT = 0.5
LEAVE_ONE_OUT = 1.0


class NgramRows:
    """All ranks' rows, of which one part after another is made anew."""

    def __init__(self, counts: NgramCounts, parts: int) -> None:
        """`parts`: that the whole table is made in."""
        self.counts = counts
        self.parts = parts
        self.discount = DISCOUNT
        rows, followers = counts.check.size * counts.world_size, counts.follower.shape[1]
        self.check = np.full(rows, EMPTY, np.int32)
        self.follower = np.tile(np.arange(followers, dtype=np.int32), (rows, 1))
        self.gain = np.zeros((rows, followers), np.float32)
        self.rest = np.ones(rows, np.float32)  # the factor that a prediction shares with those of all other tokens

    def packed(self, part: int) -> NDArray[np.int32]:
        """This rank's rows of a part: check, rest, followers and gains side by side, fp32 as its bits. Those are made
        anew whose counts have changed.
        """
        counts, followers = self.counts, self.follower.shape[1]
        first, end = self._span(part)
        here = np.arange(first, end) * counts.world_size + counts.rank
        packed = np.empty((end - first, 2 + 2 * followers), np.int32)
        packed[:, 0] = self.check[here]
        packed[:, 1] = self.rest[here].view(np.int32)
        packed[:, 2 : 2 + followers] = self.follower[here]
        packed[:, 2 + followers :] = self.gain[here].view(np.int32)
        new = np.flatnonzero(counts.changed[first:end])
        counts.changed[first:end] = False
        rest, follower, gain = self._predictions(new + first)
        counted = counts.count[new + first].max(1, initial=0) > self.discount
        packed[new, 0] = np.where(counted, counts.check[new + first], EMPTY)
        packed[new, 1] = rest.view(np.int32)
        packed[new, 2 : 2 + followers] = follower
        packed[new, 2 + followers :] = gain.view(np.int32)
        return packed

    def leave_one_out(self) -> None:
        """From now on what is predicted may have been counted: all rows are to be made anew."""
        if self.discount != LEAVE_ONE_OUT:
            self.discount = LEAVE_ONE_OUT
            self.all_anew()

    def all_anew(self) -> None:
        """All rows are to be made anew, whether their counts have changed or those of a lower order."""
        self.counts.changed[:] = True

    def put(self, part: int, packed: NDArray[np.int32]) -> Whole:
        """Take the part in as all ranks have made it, in the order of the rows; says which rows that are."""
        first, end = self._span(part)
        rows = np.arange(first * self.counts.world_size, end * self.counts.world_size)
        real, followers = packed.view(np.float32), self.follower.shape[1]
        self.check[rows] = packed[:, 0]
        self.rest[rows] = real[:, 1]
        self.follower[rows] = packed[:, 2 : 2 + followers]
        self.gain[rows] = real[:, 2 + followers :]
        return rows

    def _span(self, part: int) -> tuple[int, int]:
        here = self.counts.check.size
        return part * here // self.parts, (part + 1) * here // self.parts

    def _predictions(self, rows: NDArray[np.int64]) -> tuple[Real, Whole, Real]:
        """This rank's rows by number -> rest [N], followers [N, F], gains [N, F]."""
        counts = self.counts
        share = ((counts.alone + 1) / (counts.alone + 1).sum()).astype(np.float32)
        own, total = counts.follower[rows], counts.total[rows].astype(np.float32)
        left = np.maximum(counts.count[rows].astype(np.float32) - np.float32(self.discount), 0.0)
        prior = STRENGTH + total - left.sum(1)
        below = counts.below[rows]
        known = (below >= 0) & (self.check[below] == counts.below_check[rows])
        rest_below = np.where(known, self.rest[below], np.float32(1.0))
        others = np.where(known[:, np.newaxis], self.follower[below], NOBODY)
        gain_below = np.where(known[:, np.newaxis], self.gain[below], np.float32(0.0))
        same = own[:, :, np.newaxis] == others[:, np.newaxis, :]
        before = (gain_below[:, np.newaxis, :] * same).sum(2)
        believed = share[own] * np.exp(before) * rest_below[:, np.newaxis]  # p_m(v)
        gain = before + np.log1p(left / (prior[:, np.newaxis] * believed))
        # The followers of both orders compete for the places of the row: those stay whose probability rose most.
        follower = np.concatenate((own, others), 1)
        gain = np.concatenate((gain, np.where(same.any(1), 0.0, gain_below)), 1, dtype=np.float32)
        rise = share[follower] * np.expm1(gain)
        best = np.argsort(-rise, 1, kind="stable")[:, : own.shape[1]]
        follower, gain = (np.take_along_axis(each, best, 1) for each in (follower, gain))
        free = gain <= 0.0
        follower = np.where(free, _others(np.where(free, NOBODY, follower)), follower)
        return rest_below * prior / (STRENGTH + total), follower, np.where(free, np.float32(0.0), gain)


def _others(follower: Whole) -> Whole:
    """Rows of followers [N, F] -> as many tokens that the row does not have, all different."""
    width = follower.shape[1]
    used = (follower[:, :, np.newaxis] == np.arange(2 * width)).any(1)
    return np.argsort(used, 1, kind="stable")[:, :width]

# SPDX-License-Identifier: Apache-2.0
"""The difference between a module's answer and its framework's."""
import numpy

ALLOWED = 1e-4  # times the largest number of a tensor


class Other(Exception):
    """The answers differ; the text says where."""


class Apart:
    """The largest difference of two numbers, and the largest difference in units in the
    last place. A unit is a step of float32 at the largest number of the tensor,
    because a step at a number near 0 would mean nothing."""

    def __init__(self):
        self.most, self.units = 0.0, 0.0

    def compare(self, got, wanted):
        """Compares two trees of numbers; raises Other."""
        if isinstance(wanted, dict):
            if set(got) != set(wanted):
                raise Other(f"keys {sorted(got)}, not {sorted(wanted)}")
            for key in wanted:
                self.compare(got[key], wanted[key])
        elif isinstance(wanted, (list, tuple)):
            if len(got) != len(wanted):
                raise Other(f"{len(got)} results, not {len(wanted)}")
            for pair in zip(got, wanted):
                self.compare(*pair)
        else:
            self.numbers(numpy.array(got, "f8"), numpy.asarray(wanted))

    def numbers(self, got, wanted):
        if got.shape != wanted.shape:
            raise Other(f"shape {got.shape}, not {wanted.shape}")
        if wanted.dtype.kind in "iub":
            if (got != wanted).any():
                raise Other(f"{(got != wanted).sum()} of {got.size} numbers differ")
            return
        largest = float(numpy.abs(wanted).max(initial=0))
        apart = float(numpy.abs(got - wanted).max(initial=0))
        if not apart <= ALLOWED * (largest or 1):  # nor if one is no number
            raise Other(f"differs by {apart:.1e}, of {largest:.1e} at most")
        self.most = max(self.most, apart)
        unit = float(numpy.spacing(numpy.float32(largest or 1)))
        self.units = max(self.units, apart / unit)

# SPDX-License-Identifier: Apache-2.0
"""test_neighbours.py at the size that is promised."""
import pytest

from test_neighbours import check_neighbours, house  # noqa: F401


@pytest.mark.parametrize("isolation", ["thread", "process"])
def test_ten_minutes(house, isolation):  # noqa: F811
    check_neighbours(house, isolation, 600)

# SPDX-License-Identifier: Apache-2.0
"""The disassembly of our own modules, of every release whose bytecode
`iree-dump-module` reads. A file of its own, because it needs nothing from
outside and so must not lend its pass to tests that were skipped."""
from conftest import RELEASES
from test_iree_corpus import compare


def test_disassembly_of_the_releases(farcall, iree):
    lines = [compare(farcall, iree, path)
             for path in sorted(RELEASES.glob("*.vmfb"))]
    assert len(lines) == 60
    assert sum(count > 0 for count in lines) == 12  # 3.11, 3.12 and 3.13
    assert sum(lines) > 2500

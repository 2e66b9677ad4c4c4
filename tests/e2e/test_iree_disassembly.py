# SPDX-License-Identifier: Apache-2.0
"""The disassembly of our own modules, from every release whose bytecode
`iree-dump-module` can read. This is a file of its own: it needs no files from
outside, so it passes even if the tests of others' modules are skipped."""
from conftest import RELEASES
from test_iree_corpus import compare


def test_disassembly_of_the_releases(farcall, iree):
    lines = [compare(farcall, iree, path)
             for path in sorted(RELEASES.glob("*.vmfb"))]
    assert len(lines) == 60
    assert sum(count > 0 for count in lines) == 12  # 3.11, 3.12 and 3.13
    assert sum(lines) > 2500

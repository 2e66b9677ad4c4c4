# SPDX-License-Identifier: Apache-2.0
"""What /proc says of processes."""
import os


def children_of(pid):
    """The processes that any thread of a process has started, as text."""
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/children") as file:
            found += file.read().split()
    return found

# SPDX-License-Identifier: Apache-2.0
"""What /proc says of processes."""
import os


def children_of(pid):
    """The processes that any thread of a process has started, as text.

    A thread that ends after it was listed has none: another thread has them then.
    """
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                found += file.read().split()
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found

# SPDX-License-Identifier: Apache-2.0
"""What /proc says of processes."""
import os


def children_of(pid):
    """The processes that any thread of a process has started, as text.

    If a thread ends after it was listed, its children belong to another thread.
    """
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                found += file.read().split()
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found

# SPDX-License-Identifier: Apache-2.0
"""Executes a notebook in its folder. Every cell must print the output that is in the
file; `--write` writes the new output into the file instead.

    execute.py NOTEBOOK [--write]
"""
import pathlib
import sys

import nbclient
import nbformat


def texts(cell):
    """The texts that a reader of the cell sees."""
    found = []
    for output in cell.get("outputs", []):
        assert output.output_type in ("stream", "execute_result"), output
        found.append(output.text if output.output_type == "stream"
                     else dict(output.data))
    return found


def main(path, write):
    known = nbformat.read(path, 4)
    done = nbformat.read(path, 4)
    nbclient.NotebookClient(done, timeout=300,
                            resources={"metadata": {"path": path.parent}}).execute()
    if write:
        for cell in done.cells:
            cell.metadata = {}
        done.metadata = known.metadata
        nbformat.write(done, path)
        return
    for cell, wanted in zip(done.cells, known.cells, strict=True):
        assert texts(cell) == texts(wanted), \
            f"{cell.source}\nprints {texts(cell)}\nthe file has {texts(wanted)}"
    print(f"{path}: {sum(bool(texts(cell)) for cell in done.cells)} cells compared")
    assert sum(bool(texts(cell)) for cell in done.cells) >= 8


main(pathlib.Path(sys.argv[1]), "--write" in sys.argv[2:])

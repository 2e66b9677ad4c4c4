# SPDX-License-Identifier: Apache-2.0
"""Shows modules and functions in notebooks."""
from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ._structure import Signature


def _row(cells: Iterable[str], cell: str = "td") -> str:
    inner = "".join(f'<{cell} style="text-align:left">{escape(each)}</{cell}>'
                    for each in cells)
    return f"<tr>{inner}</tr>"


def _table(heading: str, head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    return (f"<table><caption>{escape(heading)}</caption><thead>{_row(head, 'th')}"
            f"</thead><tbody>{''.join(map(_row, rows))}</tbody></table>")


def module(name: str, signatures: Iterable[Signature]) -> str:
    """A row a function."""
    return _table(f"module {name}", ("function", "takes", "returns"), (
        (each.name, ", ".join(map(str, each.inputs)),
         ", ".join(map(str, each.outputs)) if each.callable
         else f"cannot be called: {each.reason}") for each in signatures))


def function(signature: Signature) -> str:
    """A row an argument, result or example."""
    params = [*(("argument", each) for each in signature.inputs),
              *(("result", each) for each in signature.outputs)]
    return _table(str(signature), ("", "name", "type"), [
        *((what, each.name, str(each.type)) for what, each in params),
        *(("example", each, f".example({each!r})") for each in signature.examples)])

"""Results as HTML tables in a notebook. Every text is escaped: the store's content is shown, never run."""

from html import escape
from typing import Any, Final

from lcm_lab.times import Zone
from lcm_lab.views import tables
from lcm_lab.views.table import Table

TONES: Final = {
    "user": "#1a7f37",
    "assistant": "#0969da",
    "system": "#9a6700",
    "tool": "#6e7781",
    "warning": "#9a6700",
    "error": "#cf222e",
    "over": "#cf222e",
    "good": "#1a7f37",
    "muted": "#6e7781",
}
_LITERAL: Final = "mathjax_ignore"
"""MathJax reads the page after it is built, where a dollar sign is a dollar sign however it was written."""

_CELL: Final = "padding:2px 10px 2px 0;vertical-align:top;border:0"


def html(table: Table) -> str:
    """A table as HTML, readable without any style sheet of the page."""
    title = f"<b>{_text(table.title)}</b>" if table.title else ""
    notes = "".join(f'<div style="color:#6e7781">{_text(note)}</div>' for note in table.notes)
    if not (table.columns and table.rows):
        return f'<div class="{_LITERAL}">{title}{notes}</div>'
    heads = "".join(
        f'<th style="{_CELL};text-align:{"right" if column.right else "left"}">{_text(column.title)}</th>'
        for column in table.columns
    )
    rows = "".join(_row(table, i) for i in range(len(table.rows)))
    grid = f'<table style="border-collapse:collapse"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
    return f'<div class="{_LITERAL}" style="overflow-x:auto;margin-bottom:8px">{title}{grid}{notes}</div>'


_shown_in: dict[str, Zone] = {}
"""The one zone that results are shown in, that of the Lab opened last; each table names it."""


def register(zone: Zone) -> None:
    """Teach the running IPython to show our results, their times in ``zone``; does nothing outside of one."""
    from IPython.core.getipython import get_ipython

    _shown_in["zone"] = zone
    shell = get_ipython()
    if shell is None or shell.display_formatter is None:
        return
    as_html = shell.display_formatter.formatters["text/html"]
    as_text = shell.display_formatter.formatters["text/plain"]
    for kind, name in tables.KINDS:
        as_html.for_type_by_name(kind, name, _as_html)
        as_text.for_type_by_name(kind, name, _as_text)


def _as_html(result: Any) -> str:
    return "".join(html(one) for one in tables.of(result, _shown_in["zone"]))


def _as_text(result: Any, printer: Any, _cycle: bool) -> None:  # noqa: FBT001  (IPython's signature)
    from lcm_lab.views.terminal import render

    printer.text(render(tables.of(result, _shown_in["zone"]), color=False, width=160))


def _row(table: Table, i: int) -> str:
    color = TONES.get(table.tones[i] if i < len(table.tones) else "", "")
    style = f' style="color:{color}"' if color else ""
    cells = "".join(
        f'<td style="{_CELL};text-align:{"right" if column.right else "left"};'
        f'white-space:{"pre-wrap;overflow-wrap:anywhere" if column.wrap else "pre"}">{_text(value)}</td>'
        for column, value in zip(table.columns, table.rows[i], strict=True)
    )
    return f"<tr{style}>{cells}</tr>"


def _text(text: str) -> str:
    return escape(text).replace("$", "&#36;")

"""The savings benchmark as files: CSV, Markdown, one HTML page that needs nothing else."""

import base64
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lcm_lab.times import Zone
from lcm_lab.views import notebook, savings, tables

if TYPE_CHECKING:
    from lcm_lab.analysis.savings.report import Report

_STYLE: Final = (
    "body{font:14px/1.5 system-ui,sans-serif;color:#222;margin:2rem auto;max-width:1200px;padding:0 1rem}"
    "table{border-collapse:collapse;font-size:13px}div.wide{overflow-x:auto}img{max-width:100%;margin:1rem 0}"
)


def csv(result: "Report", path: Path) -> None:
    """One row for each policy and session."""
    import csv as writer

    heads, rows = savings.flat(result)
    with path.open("w", encoding="utf-8", newline="") as file:
        out = writer.writer(file, lineterminator="\n")
        out.writerow(heads)
        out.writerows(rows)


def markdown(result: "Report", path: Path, zone: Zone) -> None:
    """All tables."""
    path.write_text(savings.markdown(tables.of(result, zone)), encoding="utf-8")


def html(result: "Report", path: Path, zone: Zone) -> None:
    """Figures and tables on one page."""
    from lcm_lab.analysis.draw import savings_figures

    title = f"What memory saves: {result.inputs or 'sessions'}"
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    parts = [f"<h1>{escape(title)}</h1>", f"<p>{escape(savings.DOLLARS)}.</p>"]
    for figure in savings_figures.every(result):
        picture = base64.b64encode(figure.png()).decode()
        parts.append(f'<img alt="{escape(str(figure.words))}" src="data:image/png;base64,{picture}">')
    parts += [f'<div class="wide">{notebook.html(one)}</div>' for one in tables.of(result, zone)]
    body = "\n".join(parts)
    page = f'<!doctype html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head>\n<body>{body}</body></html>\n'
    path.write_text(page, encoding="utf-8")

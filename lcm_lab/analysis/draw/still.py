"""The still picture of a figure, drawn with matplotlib's objects: no pyplot, no window, no state left behind.

The invariant: drawing reads no style of the caller and changes none, and characters no installed font has become boxes
instead of warnings. Checked by ``tests/analysis/test_draw_figure.py``.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Still
from matplotlib.legend import Legend
from PIL import Image

from lcm_lab.analysis.draw import palette
from lcm_lab.analysis.draw.figure import legend_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lcm_lab.analysis.draw.figure import Words

WIDTH: Final = 900
DPI: Final = 100
_LEGEND: Final[dict[str, Any]] = {"frameon": False, "fontsize": 8, "handletextpad": 0.5, "columnspacing": 1.4}
BOX: Final = "\u25a1"
_FONTS: Final = (
    "DejaVu Sans",
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "WenQuanYi Zen Hei",
    "PingFang SC",
    "Hiragino Sans",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
)
_SETTINGS: Final = {"font.size": 9.0, "axes.edgecolor": palette.GRID, "text.color": palette.INK, "hatch.linewidth": 0.7}


def png(draw: Callable[[], Still]) -> bytes:
    """What ``draw`` returns as a PNG, drawn under our settings whatever the caller's are."""
    with mpl.rc_context():
        mpl.rcdefaults()
        settings: Any = mpl.rcParams
        settings.update({**_SETTINGS, "font.family": list(_fonts())})
        canvas: Any = FigureCanvasAgg(draw())
        canvas.draw()
        picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    target = BytesIO()
    # Flat colours: a palette keeps dense pictures at a third of the size, and notebooks carry them.
    picture.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        target, format="PNG", optimize=True
    )
    return target.getvalue()


def sheet(words: "Words", *, height: int, legend: int = 0, axis: int = 46, left: int = 70) -> tuple[Still, "Axes"]:
    """A still with title, detail and caption in place, and axes of ``height`` pixels between."""
    above = 24 + 22 * len(words.title_lines) + 16 * len(words.detail_lines) + legend
    below = axis + 14 * len(words.caption_lines) + 12
    whole = above + height + below
    found = Still(figsize=(WIDTH / DPI, whole / DPI), dpi=DPI, facecolor=palette.PAPER)
    top = whole - 12.0
    for lines, step, size, colour, weight in (
        (words.title_lines, 22, 12.0, palette.INK, "bold"),
        (words.detail_lines, 16, 9.5, palette.FAINT, "normal"),
    ):
        for line in lines:
            place: Any = {"va": "top", "fontsize": size, "color": colour, "fontweight": weight}
            found.text(12 / WIDTH, top / whole, say(line), **place)
            top -= step
    for i, line in enumerate(words.caption_lines):
        y = (below - axis - 14 * i) / whole
        found.text(left / WIDTH, y, say(line), va="top", fontsize=7.5, color=palette.FAINT)
    axes = found.add_axes((left / WIDTH, below / whole, (WIDTH - left - 40) / WIDTH, height / whole))
    axes.tick_params(labelsize=8, color=palette.GRID)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return found, axes


def legend(axes: "Axes", handles: Sequence[Any]) -> None:
    """A legend above the axes, in as many rows as it needs, read row by row."""
    rows = legend_rows([str(handle.get_label()) for handle in handles])
    height = axes.get_window_extent().height
    for i, row in enumerate(reversed(rows)):
        look: dict[str, Any] = {
            "loc": "lower left",
            "bbox_to_anchor": (-0.012, 1.0 + 19 * i / height),
            "borderpad": 0.2,
        }
        chosen = [handles[place] for place in row]
        axes.add_artist(Legend(axes, chosen, [one.get_label() for one in chosen], ncols=len(row), **look, **_LEGEND))


def say(text: object, *, size: int = 400) -> str:
    """``text`` as matplotlib shows it literally: no formula, no control character, boxes for missing characters."""
    shown = palette.visible(text, size=size)
    return "".join(one if _has(one) else BOX for one in shown).replace("$", r"\$")


@lru_cache(maxsize=1)
def _fonts() -> tuple[str, ...]:
    installed = set(font_manager.fontManager.get_font_names())
    return tuple(name for name in _FONTS if name in installed) or ("DejaVu Sans",)


@lru_cache(maxsize=1)
def _faces() -> tuple[Any, ...]:
    return tuple(font_manager.get_font(font_manager.findfont(name)) for name in _fonts())


@lru_cache(maxsize=65536)
def _has(one: str) -> bool:
    return any(face.get_char_index(ord(one)) for face in _faces())

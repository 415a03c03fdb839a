"""What memory saves: the benchmark of the savings and the advice, as a notebook and the command line call them.

With no paths the benchmark runs on the traces that are committed with the product: numbers without any text, made from
public sessions. Opening nothing, writing nothing.
"""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lcm_lab import places, times
from lcm_lab.errors import NotFound, UsageError

if TYPE_CHECKING:
    from lcm_lab.analysis.savings.advice import Advice
    from lcm_lab.analysis.savings.policies import Policy
    from lcm_lab.analysis.savings.report import Report
    from lcm_lab.analysis.savings.session import Session

VARIABLE = "LCM_LAB_SESSIONS"
"""Names the sessions that the notebook looks at."""

Progress = Callable[[str, int, int], None]
COMMITTED = "the committed traces"


def savings(
    *paths: str | os.PathLike[str],
    model: str = "",
    lifetime: str = "",
    lcm_store: str | os.PathLike[str] | None = None,
    tz: str | None = None,
    progress: Progress | None = None,
) -> "Report":
    """Replay sessions under every policy: transcripts or folders of them, a folder of traces, or the committed traces.

    ``model`` prices every request as one of that model, ``lifetime`` (5m, 1h, none) takes another cache than the
    sessions had. ``lcm_store`` gives the sizes of LCM's summaries, instead of the plugin's targets.

    Raises:
        NotFound: no session at a path. UsageError: a model without a price, or no such lifetime.
    """
    from lcm_lab.analysis.savings.billing import LIFETIMES
    from lcm_lab.analysis.savings.policies import STANDARD
    from lcm_lab.analysis.savings.report import Benchmark
    from lcm_lab.summarizer.prices import price_of

    if model and price_of(model) is None:
        raise UsageError(f"{model} has no price: add it to a file of your own and name that in LCM_LAB_PRICES.")
    if lifetime and lifetime not in LIFETIMES:
        raise UsageError(f"A cache lives for one of {', '.join(LIFETIMES)}, not for {lifetime!r}.")
    policies = _with_sizes_of(lcm_store) if lcm_store else STANDARD
    sessions, inputs = load([places.expanded(one) for one in paths], progress=_part(progress, 0, 50))
    _register(tz)
    return Benchmark(sessions, model, lifetime, _part(progress, 50, 100)).run(policies, inputs=inputs)


def notebook_savings(path: str | os.PathLike[str] = "", *, model: str = "") -> "Report":
    """As :func:`savings`, for a notebook: ``path``, else ``LCM_LAB_SESSIONS``, else the committed traces."""
    chosen = str(path) or os.environ.get(VARIABLE, "")
    return savings(*([chosen] if chosen else []), model=model)


def advise(
    *paths: str | os.PathLike[str],
    model: str = "",
    tz: str | None = None,
    progress: Progress | None = None,
) -> "Advice":
    """Replay the user's own newest sessions, or those named, under every setting the client takes.

    Raises:
        NotFound: there is no session.
    """
    from lcm_lab.analysis.savings import advice

    chosen = [places.expanded(one) for one in paths] or recent(advice.RECENT)
    sessions, _ = load(chosen, progress=_part(progress, 0, 50))
    _register(tz)
    return advice.advise(sessions, model=model, progress=_part(progress, 50, 100))


def recent(most: int) -> list[Path]:
    """The newest transcripts that Claude Code keeps on this machine.

    Raises:
        NotFound: there is none.
    """
    from lcm_lab.hooks import threshold
    from lcm_lab.hooks.host import this_host

    config = this_host().config
    found = threshold.recent_transcripts(config)[:most]
    if not found:
        raise NotFound(f"There is no transcript below {config / 'projects'}; name files or folders.")
    return found


def load(paths: Sequence[Path], *, progress: Progress | None = None) -> tuple[list["Session"], str]:
    """The sessions at the paths as numbers, and what they are in a few words.

    Raises:
        NotFound: nothing is there, or nothing in it is a session.
    """
    from lcm_lab.analysis.savings import reading, traces
    from lcm_lab.memory.keeping import transcripts

    if not paths:
        return traces.read(), COMMITTED
    if len(paths) == 1 and (paths[0] / traces.FILES[0]).is_file():
        return traces.read(paths[0]), f"traces in {paths[0].name}"
    files = transcripts(paths, Path())
    found = reading.read_all(files, progress=progress)
    if not found:
        raise NotFound(f"No request to a model was found in {len(files)} files.")
    size = sum(path.stat().st_size for path in files)
    return found, f"{len(found)} sessions, {size / 1e6:.1f} MB"


def write_traces(report: "Report", folder: str | os.PathLike[str]) -> list[Path]:
    """Write the sessions of a report as traces: numbers only, with the state of each reference under each policy."""
    from lcm_lab.analysis.savings import traces

    first = next(iter(report.replays.values()), ())
    states = {name: {one.session.name: one.states for one in runs} for name, runs in report.replays.items()}
    return traces.write([one.session for one in first], Path(folder), states)


def _with_sizes_of(store: str | os.PathLike[str]) -> tuple["Policy", ...]:
    """The policies of the benchmark, LCM's with the median sizes of the summaries in a store."""
    from dataclasses import replace
    from statistics import median

    from lcm_lab import lab
    from lcm_lab.analysis.savings.policies import LCM, STANDARD, Plugin

    known = [one for one in lab.open(store).compression().known if one.tokens]
    leaves = [one.tokens for one in known if one.depth == 0]
    condensed = [one.tokens for one in known if one.depth > 0]
    if not leaves:
        raise NotFound(f"There is no summary in {store} whose sources are known.")
    target = round(median(condensed)) if condensed else Plugin().condensed_target
    plugin = replace(Plugin(), leaf_target=round(median(leaves)), condensed_target=target)
    return tuple(replace(one, plugin=plugin) if one.compaction == LCM else one for one in STANDARD)


def _part(progress: Progress | None, start: int, end: int) -> Progress | None:
    """Progress of one step as its share of the whole, in percent."""
    if progress is None:
        return None
    return lambda step, done, total: progress(step, start + (end - start) * done // max(1, total), 100)


def _register(tz: str | None) -> None:
    """Where IPython runs, results show themselves as tables."""
    if "IPython" in sys.modules:
        from lcm_lab.views import notebook

        notebook.register(times.zone(tz or os.environ.get("LCM_LAB_TZ")))

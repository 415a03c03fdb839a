"""The savings benchmark and the advice as JSON; part of :mod:`lcm_lab.views.as_json`."""

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lcm_lab.analysis.savings.measures import Line


def _report(result: Any) -> dict[str, Any]:
    from lcm_lab.analysis.savings import claims
    from lcm_lab.analysis.savings.calibration import CHOSEN, TARGET
    from lcm_lab.views.savings import DOLLARS, flat

    heads, rows = flat(result)
    return {
        "inputs": result.inputs,
        "prices": {"dated": result.prices_dated, "priced_as": result.priced_as or None, "unit": DOLLARS},
        "unpriced": result.unpriced,
        "sessions": result.sessions,
        "policies": [_line(one) for one in result.lines],
        "rows": [dict(zip(heads, row, strict=True)) for row in rows],
        "growth": {
            "target": TARGET,
            "used": CHOSEN,
            "rules": [
                {**asdict(one), "median": one.median, "median_along": one.median_along} for one in result.accuracies
            ],
        },
        "compactions": result.boundaries,
        "typical": result.typical,
        "reorientation": {
            "after": result.reorientation.after,
            "usual": result.reorientation.usual,
            "extra_actions": result.reorientation.extra_actions,
            "extra_tokens": result.reorientation.extra_tokens,
        },
        "retention": result.retention,
        "lifetimes": [{"policy": p, "lifetime": name, "usd": usd} for p, name, usd in result.lifetimes],
        "sweep": [_line(one) for one in result.sweep],
        "claims": claims.answers(result),
    }


def _line(one: "Line") -> dict[str, Any]:
    return asdict(one)


def _advice(result: Any) -> dict[str, Any]:
    found = asdict(result)
    found["chosen"] = result.chosen.name if result.chosen else None
    return found


SHAPES: Final[dict[str, Callable[[Any], dict[str, Any]]]] = {"Report": _report, "Advice": _advice}

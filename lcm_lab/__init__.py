"""lcm_lab: a workbench for the memory of AI agents."""

from importlib import import_module
from typing import Any

__all__ = [
    "Lab",
    "Memory",
    "Scripted",
    "advise",
    "notebook",
    "notebook_memory",
    "notebook_savings",
    "open",
    "open_memory",
    "savings",
]
_PLACES = {
    "Memory": "recall",
    "Scripted": "summarizer.seam",
    "advise": "bench",
    "notebook_memory": "recall",
    "notebook_savings": "bench",
    "open_memory": "recall",
    "savings": "bench",
}


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(f"lcm_lab.{_PLACES.get(name, 'lab')}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

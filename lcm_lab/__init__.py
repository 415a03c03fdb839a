"""lcm_lab: a workbench for the memory of AI agents."""

from importlib import import_module
from typing import Any

__all__ = ["Lab", "Memory", "Scripted", "notebook", "notebook_memory", "open", "open_memory"]
_PLACES = {
    "Memory": "recall",
    "Scripted": "summarizer.seam",
    "notebook_memory": "recall",
    "open_memory": "recall",
}


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(f"lcm_lab.{_PLACES.get(name, 'lab')}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

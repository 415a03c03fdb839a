"""Widgets for a notebook: browse a store, review repairs, apply them. Panels show; what they show is made below."""

from importlib import import_module
from typing import Any

__all__ = [
    "BriefsPanel",
    "BudgetPanel",
    "ContextPanel",
    "ConversationPanel",
    "DagPanel",
    "FilesPanel",
    "HealthPanel",
    "Workbench",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(f"lcm_lab.panels.{name.removesuffix('Panel').lower()}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

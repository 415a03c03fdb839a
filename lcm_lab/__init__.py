"""lcm_lab: a workbench for the memory of AI agents."""

from typing import Any

__all__ = ["Lab", "notebook", "open"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from lcm_lab import lab

        return getattr(lab, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""What may be done with a context that grows: the policies that are compared, with the values the field uses.

A policy is data; :mod:`lcm_lab.analysis.savings.acting` does what it says. The concept of the three layers and the
defaults of the plugin are among them, so that what they promise is measured and not assumed.
"""

from dataclasses import dataclass, field
from typing import Final

from lcm_lab.hooks.threshold import BIG_MODEL, SMALL_MODEL, fires_at

NEVER: Final = "never"
RECORDED: Final = "recorded"
NATIVE: Final = "native"
LAYERS: Final = "layers"
NATIVE_LAYERS: Final = "native and layers"
LCM: Final = "lcm"

CONCEPT_TURNS: Final = 10
CONCEPT_PERCENT: Final = 10
INSTALLED: Final = fires_at(SMALL_MODEL, 100_000, None) or 67_000
"""Where the hooks of this project let a model with 200,000 tokens compact."""

CONCEPT_SMALL: Final = SMALL_MODEL // CONCEPT_PERCENT
CONCEPT_BIG: Final = fires_at(BIG_MODEL, None, CONCEPT_PERCENT) or 98_000
"""What the concept's 10 % come to: of a window of 200,000 as the concept reckons.

On a window of one million as measured.
"""

CLIENT_HIGHEST: Final = fires_at(SMALL_MODEL, SMALL_MODEL, None) or 167_000


@dataclass(frozen=True, slots=True)
class Plugin:
    """The plugin's settings; the defaults are those of its present version (public sources)."""

    fresh_tail: int = 64
    leaf_chunk: int = 20_000
    leaf_target: int = 2_400
    condensed_target: int = 2_000
    leaf_fanout: int = 8
    wrapper: int = 55
    """Tokens of the XML around a summary."""

    prompt: int = 500
    """Tokens of the instructions that a summary is asked for with."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What to do with the context. ``threshold``: compact before a request that would be larger (0: never by size).

    ``keep_results``: clear all tool results but the newest so many (None: clear none), not before ``clear_at`` tokens
    are in the context and never fewer than ``clear_least`` tokens at once. ``protect_turns`` and ``protect_tokens``:
    what the layers leave raw.
    """

    name: str
    compaction: str = NEVER
    threshold: int = 0
    keep_results: int | None = None
    clear_at: int = 0
    clear_least: int = 0
    protect_turns: int | None = CONCEPT_TURNS
    protect_tokens: int | None = None
    plugin: Plugin = field(default_factory=Plugin)

    @property
    def has_memory(self) -> bool:
        """Whether what leaves the context can be looked up."""
        return self.compaction in (LAYERS, NATIVE_LAYERS, LCM)


PLAIN: Final = Policy("plain")
AS_RECORDED: Final = Policy("native, as recorded", RECORDED)
CONCEPT: Final = Policy("three layers, concept (T 20k, 10 turns)", LAYERS, CONCEPT_SMALL)

STANDARD: Final = (
    PLAIN,
    AS_RECORDED,
    Policy("native at 67k", NATIVE, INSTALLED),
    Policy("native at 98k", NATIVE, CONCEPT_BIG),
    Policy("native at 167k", NATIVE, CLIENT_HIGHEST),
    Policy("masking, keep 3", keep_results=3),
    Policy("masking, keep 10", keep_results=10),
    Policy("masking, keep 10, by 20k", keep_results=10, clear_least=20_000),
    Policy("masking, keep 3, from 100k", keep_results=3, clear_at=100_000),
    Policy("LCM at 150k (defaults, 200k)", LCM, 150_000),
    Policy("LCM at 67k", LCM, INSTALLED),
    CONCEPT,
    Policy("three layers alone, T 67k, 10 turns", LAYERS, INSTALLED),
    Policy("three layers alone, T 67k, 3 turns", LAYERS, INSTALLED, protect_turns=3),
    Policy("three layers alone, T 67k, 20k tokens", LAYERS, INSTALLED, protect_turns=None, protect_tokens=20_000),
    Policy("hooks as installed (native at 67k + L1, L2)", NATIVE_LAYERS, INSTALLED),
    Policy("hooks, native at 98k + L1, L2", NATIVE_LAYERS, CONCEPT_BIG),
    Policy("masking by 20k + hooks at 67k", NATIVE_LAYERS, INSTALLED, keep_results=10, clear_least=20_000),
    Policy("masking by 20k + three layers alone, 10 turns", LAYERS, INSTALLED, keep_results=10, clear_least=20_000),
)
"""The policies of the benchmark, in the order of its tables."""


def sweep() -> tuple[Policy, ...]:
    """The grid over threshold and protected tail, for what N and T do and for the frontier."""
    found = []
    for threshold in (CONCEPT_SMALL, 40_000, INSTALLED, CONCEPT_BIG, 130_000):
        for turns in (1, 3, 5, 10, 20):
            name = f"layers T {threshold // 1000}k, {turns} turns"
            found.append(Policy(name, LAYERS, threshold, protect_turns=turns))
        for tokens in (5_000, 10_000, 20_000, 40_000):
            name = f"layers T {threshold // 1000}k, {tokens // 1000}k tokens"
            found.append(Policy(name, LAYERS, threshold, protect_turns=None, protect_tokens=tokens))
    return tuple(found)

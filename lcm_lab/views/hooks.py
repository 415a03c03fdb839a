"""Tables for what the installer finds: a status, a self-test. What a plan does is said in the installer's own lines."""

from typing import TYPE_CHECKING

from lcm_lab.times import Zone
from lcm_lab.views.table import DASH, Column, Table, make

if TYPE_CHECKING:
    from lcm_lab.hooks.evidence import Compaction
    from lcm_lab.hooks.self_test import SelfTest
    from lcm_lab.hooks.status import Status

_TONES = {"delivered": "good", "late": "warning", "in part": "warning", "not delivered": "error"}


def status(result: "Status", zone: Zone) -> list[Table]:
    """What is installed, what the client will do, and what happened."""
    limit = result.threshold
    facts: list[tuple[str, object]] = [
        ("memory", str(result.home)),
        ("hooks of this lcm-lab", result.version),
        ("client", "not found" if result.client is None else ".".join(map(str, result.client))),
    ]
    for one in result.installed:
        rules = "allowed" if one.lookup_allowed else "asks each time"
        facts.append((f"installed ({one.scope})", f"{one.settings}: {one.version}, {one.parts} parts, look-up {rules}"))
        facts.append(("", ", ".join(one.events)))
    facts.append(("compaction at", f"{_tokens(limit.small)} (200K models), {_tokens(limit.big)} (1M models)"))
    load = "no sessions yet" if limit.load is None else f"fixed load {limit.load:,} in {limit.sessions} sessions"
    facts.append(("floor", f"{limit.floor:,} tokens ({load})"))
    for value, where in (
        (limit.current.window, limit.current.window_from),
        (limit.current.percent, limit.current.percent_from),
    ):
        facts += [("set", f"{value:,g} by {where}")] if value is not None else []
    facts.append(("model help", result.model_help))
    found = [make("Session memory for Claude Code", ["", Column("", wrap=True)], facts)]
    rows = [
        (
            zone.show(one.at, zone=False),
            one.session[:8],
            one.trigger or DASH,
            one.before,
            one.after,
            _parts(one),
            one.verdict,
        )
        for one in result.compactions
    ]
    heads: list[Column | str] = [
        f"time ({zone.name})",
        "session",
        "trigger",
        Column("tokens before", right=True),
        Column("tokens after", right=True),
        "parts",
        "memory",
    ]
    tones = [_TONES.get(one.verdict, "") for one in result.compactions]
    said = ["Proved by the client's transcripts."] if rows else ["none since the installation"]
    found.append(make("Compactions", heads, rows, tones=tones, notes=said))
    runs = [(one.event, zone.show(one.at, zone=False), one.runs) for one in result.runs]
    found.append(
        make("Events seen", ["event", f"last ({zone.name})", "times"], runs, notes=[] if runs else ["none yet"])
    )
    problems = [(text,) for text in result.problems]
    title = f"Problems: {len(problems)}" if problems else "No problem found."
    found.append(make(title, [Column("", wrap=True)], problems, tones=["warning"] * len(problems)))
    return found


def _parts(one: "Compaction") -> str:
    return f"{len(one.parts)} of {one.expected}" if one.parts else DASH


def _tokens(count: int | None) -> str:
    return "never before the limit" if count is None else f"{count:,} tokens"


def self_test(result: "SelfTest", zone: Zone) -> list[Table]:  # noqa: ARG001  (one signature for all tables)
    """One line a command that was run, then the verdict."""
    rows = [(one.event, one.script, f"{one.seconds * 1000:.0f} ms", one.problem or "ok") for one in result.checks]
    tones = ["error" if one.problem else "" for one in result.checks]
    parts = f"Parts of the block: {', '.join(map(str, result.parts)) or 'none came'}."
    log = [f"Log: {line}" for line in result.log.splitlines()[:10]]
    heads: list[Column | str] = ["event", "script", Column("time", right=True), Column("result", wrap=True)]
    title = f"Self-test {'passed' if result.passed else 'failed'}, commands from {result.source}"
    return [make(title, heads, rows, tones=tones, notes=[parts, *log])]

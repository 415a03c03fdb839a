"""What belongs to us inside a settings file: found, put in, taken out.

Idea: a handler is ours when it runs a file below the hooks folder of this memory; nothing else in the file is touched.
Our handlers stand in groups of their own behind those of others. Values (threshold, folder) and permission rules carry
no such mark, so they are ours only where the record of the installation says so *and* the value is still the one we
wrote; whatever a user changed since is the user's.

Invariant: ``strip(add(text, wanted))`` means what ``text`` meant, for every settings object.
Checked by ``tests/hooks/installer/test_install_foreign.py``.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

try:
    from . import json_text
except ImportError:  # run as a script
    import json_text  # type: ignore[import-not-found,no-redef]

Path_ = tuple[str, ...]


@dataclass(frozen=True)
class Handler:
    """One command for one event, as it is registered."""

    event: str
    matcher: str | None
    command: str
    args: tuple[str, ...]
    timeout: int

    def entry(self) -> dict[str, Any]:
        """The handler in the client's own words (exec form: no shell sees the arguments)."""
        return {"type": "command", "command": self.command, "args": list(self.args), "timeout": self.timeout}


@dataclass(frozen=True)
class Wanted:
    """Everything of ours that a settings file should hold."""

    handlers: tuple[Handler, ...] = ()
    values: Mapping[Path_, Any] = field(default_factory=dict)
    rules: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ours:
    """What the record says about one settings file: values we wrote, what stood there before, containers we made."""

    values: Mapping[Path_, Any] = field(default_factory=dict)
    before: Mapping[Path_, str] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    made: tuple[Path_, ...] = ()


@dataclass(frozen=True)
class Found:
    """One handler of ours in a file: where it stands and what it says."""

    event: str
    group: int
    index: int
    matcher: str | None
    entry: Mapping[str, Any]

    @property
    def place(self) -> tuple[str | int, ...]:
        """Its path in the document."""
        return ("hooks", self.event, self.group, "hooks", self.index)

    @property
    def script(self) -> str:
        """The file it runs, the first argument that is a path to a module."""
        parts = [self.entry.get("command"), *_texts(self.entry.get("args"))]
        return next((part for part in parts if isinstance(part, str) and part.endswith(".py")), "")


def handlers(root: json_text.Node) -> Iterator[Found]:
    """Every handler in the file, whoever it belongs to; what has another shape is passed over."""
    hooks = root.get("hooks")
    for event in hooks.names if hooks is not None else ():
        groups = root.at(("hooks", event))
        for number, group in enumerate(groups.children if groups is not None else ()):
            matcher, listed = group.get("matcher"), group.get("hooks")
            for index, node in enumerate(listed.children if listed is not None and listed.kind == "array" else ()):
                if node.kind == "object":
                    name = matcher.value if matcher is not None and matcher.kind == "string" else None
                    yield Found(event, number, index, name, node.plain())


def own_handlers(root: json_text.Node, hooks: Path) -> list[Found]:
    """The handlers that run a file below our hooks folder."""
    return [found for found in handlers(root) if _below(found.script, hooks)]


def _below(script: str, hooks: Path) -> bool:
    path = script.replace("\\", "/")
    return bool(script) and path.startswith(hooks.as_posix().rstrip("/") + "/")


def other_copies(root: json_text.Node, hooks: Path) -> list[str]:
    """Folders of hooks like ours that another memory folder registered: both would record."""
    scripts = [Path(f.script.replace("\\", "/")) for f in handlers(root) if not _below(f.script, hooks)]
    return sorted({str(s.parent) for s in scripts if s.name == "detail_capture.py" and s.parent.parent.name == "hooks"})


def matches(root: json_text.Node, wanted: Wanted, hooks: Path, ours: Ours) -> bool:
    """Whether the file already holds exactly what is wanted of ours, wherever it stands."""
    seen = sorted(json.dumps([f.event, f.matcher, f.entry], sort_keys=True) for f in own_handlers(root, hooks))
    want = sorted(json.dumps([h.event, h.matcher, h.entry()], sort_keys=True) for h in wanted.handlers)
    present = all(_value(root, path) == value for path, value in wanted.values.items())
    stale = any(_value(root, path) == v and wanted.values.get(path) != v for path, v in ours.values.items())
    rules = set(_own_rules(root, hooks, ours)) <= set(wanted.rules) <= set(allowed(root))
    return seen == want and present and not stale and rules


def _value(root: json_text.Node, path: Path_) -> Any:
    node = root.at(path)
    return None if node is None else node.plain()


def allowed(root: json_text.Node) -> list[str]:
    """The permission rules that allow something."""
    node = root.at(("permissions", "allow"))
    return [item.value for item in node.children if item.kind == "string"] if node is not None else []


def strip(text: str, hooks: Path, ours: Ours) -> str:
    """The text without anything of ours; what others wrote keeps its bytes."""
    while found := own_handlers(json_text.parse(text), hooks):
        text = _drop_handler(text, found[0])
    for path, value in ours.values.items():
        node = json_text.parse(text).at(path)
        if node is not None and node.plain() == value:
            raw = ours.before.get(path)
            text = json_text.drop(text, path) if raw is None else json_text.put_raw(text, path, raw)
    for rule in _own_rules(json_text.parse(text), hooks, ours):
        rules = json_text.parse(text).at(("permissions", "allow"))
        values = [item.value for item in rules.children] if rules is not None else []
        text = json_text.drop(text, ("permissions", "allow", values.index(rule)))
    for path in sorted(ours.made, key=len, reverse=True):
        node = json_text.parse(text).at(path)
        if node is not None and node.kind in {"object", "array"} and not node.children:
            text = json_text.drop(text, path)
    return text


def _drop_handler(text: str, found: Found) -> str:
    """The text without one handler; a group that held nothing else goes with it."""
    group = json_text.parse(text).at(found.place[:3])
    listed = group.get("hooks") if group is not None else None
    alone = listed is not None and len(listed.children) == 1
    return json_text.drop(text, found.place[:3] if alone else found.place)


def _own_rules(root: json_text.Node, hooks: Path, ours: Ours) -> list[str]:
    """Recorded rules, and any rule for a file below our hooks folder (an older version's, say)."""
    mark = hooks.as_posix().rstrip("/") + "/"
    return [rule for rule in allowed(root) if rule in ours.rules or (rule.startswith("Bash(") and mark in rule)]


def add(text: str, wanted: Wanted) -> tuple[str, Ours]:
    """The text with everything wanted in it, and the record that takes it out again."""
    made: list[Path_] = []
    before: dict[Path_, str] = {}
    values: dict[Path_, Any] = {}
    for path, value in wanted.values.items():
        node = json_text.parse(text).at(path)
        if node is not None and node.plain() == value:
            continue  # the user's own, and the same: nothing of ours
        if node is not None:
            before[path] = text[node.start : node.end]
        values[path] = value
        text = json_text.put(_ensure(text, path[:-1], made, {}), path, value)
    for event, matcher in dict.fromkeys((h.event, h.matcher) for h in wanted.handlers):
        entries = [h.entry() for h in wanted.handlers if (h.event, h.matcher) == (event, matcher)]
        group = {"matcher": matcher, "hooks": entries} if matcher is not None else {"hooks": entries}
        text = _ensure(text, ("hooks",), made, {})
        text = json_text.append(_ensure(text, ("hooks", event), made, []), ("hooks", event), group)
    rules = tuple(rule for rule in wanted.rules if rule not in allowed(json_text.parse(text)))
    for rule in rules:
        text = _ensure(text, ("permissions",), made, {})
        where = ("permissions", "allow")
        text = json_text.append(_ensure(text, where, made, []), where, rule)
    return text, Ours(values, before, rules, tuple(made))


def _ensure(text: str, path: Path_, made: list[Path_], empty: dict[str, Any] | list[Any]) -> str:
    """The text with a container at this path, noted as made by us where there was none."""
    if not path or json_text.parse(text).at(path) is not None:
        return text
    made.append(path)
    return json_text.put(text, path, empty)


def _texts(value: Any) -> list[str]:
    return [part for part in value if isinstance(part, str)] if isinstance(value, list) else []

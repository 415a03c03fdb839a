"""Other people's settings files: what is theirs stays, byte for byte where nobody else wrote meanwhile."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lcm_lab.hooks import entries, install, json_text
from lcm_lab.hooks import host as hosts
from lcm_lab.hooks.settings_file import InstallRefused

if TYPE_CHECKING:
    from tests.hooks.installer.conftest import Machine

OTHERS: dict[str, Any] = {
    "permissions": {"allow": ["Bash(ls:*)"], "deny": ["Read(.env)"]},
    "hooks": {
        "SessionStart": [{"matcher": "compact", "hooks": [{"type": "command", "command": "their-memory start"}]}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "guard", "timeout": 5}]}],
        "Stop": [{"hooks": [{"type": "command", "command": "bell"}, {"type": "prompt", "prompt": "done?"}]}],
    },
    "env": {"FOO": "1"},
    "model": "opus",
}

ACCEPTED: dict[str, bytes] = {
    "hooks of others": json.dumps(OTHERS, indent=2).encode() + b"\n",
    "odd order and unknown keys": b'{"zz": [1, 2.50, 1e3], "hooks": {"Stop": [], "NoSuch": [{}]}, "aa": {"b": null}}',
    "carriage returns": json.dumps(OTHERS, indent=4).replace("\n", "\r\n").encode() + b"\r\n",
    "tabs": json.dumps(OTHERS, indent="\t").encode() + b"\n",
    "no end of line": json.dumps(OTHERS, indent=2).encode(),
    "one line": json.dumps(OTHERS, separators=(",", ":")).encode(),
    "empty object": b"{}",
    "empty object with space": b"\n{ \n\n }\n\n",
    "empty hooks": b'{\n  "hooks": {  },\n  "permissions": {"allow": [ ]},\n  "env": {}\n}\n',
    "an override of 80": b'{\n  "env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "80"}\n}\n',
    "a window": b'{"autoCompactWindow": 150000}\n',
    "texts beyond ascii": '{"名前": "日本語", "e": "\\ud83d\\ude00 \\u0000"}\n'.encode(),
    "a number too long": b'{"n": 1' + b"0" * 5000 + b"}",
}

REFUSED: dict[str, tuple[bytes, str]] = {
    "comments": (b'{\n  // mine\n  "env": {}\n}', "line 2"),
    "byte order mark": (b"\xef\xbb\xbf{}", "byte order mark"),
    "trailing comma": (b'{"a": 1,\n}', "line 2"),
    "duplicate key": (b'{"hooks": {},\n "hooks": {}}', "line 2"),
    "empty": (b"", "empty"),
    "cut": (b'{"a": {', "line 1"),
    "not UTF-8": (b'{\n"a": "\xff"}', "line 2"),
    "a list at the top": (b"[]", "must be an object and is a list"),
    "hooks that are a list": (b'{"hooks": []}', "hooks must be an object"),
    "an event that is an object": (b'{"hooks": {"Stop": {}}}', "hooks.Stop must be a list"),
    "env that is a text": (b'{"env": "x"}', "env must be an object"),
    "rules that are an object": (b'{"permissions": {"allow": {}}}', "permissions.allow must be a list"),
}


def without_ours(machine: Machine) -> Any:
    """The settings without our handlers, as data."""
    root = json_text.parse(machine.settings.read_text())
    found = root.plain()
    for one in reversed(entries.own_handlers(root, machine.host.hooks)):
        groups = found["hooks"][one.event]
        del groups[one.group]["hooks"][one.index]
        if not groups[one.group]["hooks"]:
            del groups[one.group]
    return found


@pytest.mark.parametrize("original", ACCEPTED.values(), ids=ACCEPTED)
def test_install_twice_upgrade_and_uninstall(machine: Machine, original: bytes) -> None:
    """The life of an installation: nothing of others moves, nothing of ours doubles, everything goes back."""
    machine.write(original)
    machine.settings.chmod(0o640)
    before = machine.tree()

    machine.install(allow_lookup=True)
    first = machine.settings.read_bytes()
    data, theirs = (json_text.parse(raw.decode()).plain() for raw in (first, original))
    for event, groups in (theirs.get("hooks") or {}).items():
        assert data["hooks"][event][: len(groups)] == groups
    assert [key for key in data if key in theirs] == list(theirs)
    assert stat.S_IMODE(machine.settings.stat().st_mode) == 0o640
    if b"\r\n" in original:
        assert b"\n" not in first.replace(b"\r\n", b"")

    again = machine.install()
    assert not again.changed
    assert machine.settings.read_bytes() == first

    machine.upgrade()
    upgraded = machine.install()
    assert upgraded.changed
    second = machine.settings.read_bytes()
    old, new = (
        next(iter(entries.own_handlers(json_text.parse(raw.decode()), machine.host.hooks))) for raw in (first, second)
    )
    assert Path(old.script).parent != Path(new.script).parent
    assert second.replace(Path(new.script).parent.name.encode(), Path(old.script).parent.name.encode()) == first

    machine.uninstall()
    assert machine.settings.read_bytes() == original
    assert machine.tree() == {
        **before,
        str(machine.source / "lookup.py"): machine.tree()[str(machine.source / "lookup.py")],
    }
    assert not machine.uninstall().changed


@pytest.mark.parametrize(("original", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_strict_is_refused_and_nothing_written(machine: Machine, original: bytes, why: str) -> None:
    """The line is named; not even the memory folder is made."""
    machine.write(original)
    before = machine.tree()
    for plan in (install.plan_install, install.plan_uninstall):
        with pytest.raises(InstallRefused) as caught:
            plan(machine.host)
        assert why in str(caught.value)
        assert "nothing was written" in str(caught.value)
    assert machine.tree() == before
    assert not machine.home.exists()


def test_a_missing_file_is_made_and_goes_again(machine: Machine) -> None:
    """With the folders that were made for it."""
    before = machine.tree()
    machine.install()
    assert stat.S_IMODE(machine.settings.stat().st_mode) == 0o600
    machine.uninstall()
    assert machine.tree() == before


@pytest.mark.parametrize("what", ["file", "folder"])
def test_read_only_is_refused_also_for_root(machine: Machine, what: str) -> None:
    """Root could write, the mode says that nobody should."""
    machine.write(OTHERS)
    place = machine.settings if what == "file" else machine.settings.parent
    mode = place.stat().st_mode
    place.chmod(0o444 if what == "file" else 0o555)
    before = machine.tree()
    try:
        with pytest.raises(InstallRefused, match="read-only"):
            machine.install()
        assert machine.tree() == before
        assert not machine.home.exists()
    finally:
        place.chmod(mode)


@pytest.mark.parametrize("exists", [True, False], ids=["to a file", "to nothing"])
def test_a_link_stays_a_link(machine: Machine, *, exists: bool) -> None:
    """Settings kept in a folder of dotfiles are changed there."""
    dotfiles = machine.root / "dotfiles" / "claude.json"
    dotfiles.parent.mkdir()
    machine.settings.parent.mkdir(parents=True)
    machine.settings.symlink_to(dotfiles)
    original = json.dumps(OTHERS).encode()
    if exists:
        dotfiles.write_bytes(original)
    before = machine.tree()
    machine.install()
    assert machine.settings.is_symlink()
    assert "PreCompact" in json.loads(dotfiles.read_bytes())["hooks"]
    machine.uninstall()
    assert machine.tree() == before


def test_others_who_came_later_stay(machine: Machine) -> None:
    """After somebody else's change our entries are cut out of the text; the rest keeps its bytes."""
    machine.write(OTHERS)
    machine.install(allow_lookup=True)
    data = machine.read()
    data["hooks"]["Stop"].insert(0, {"hooks": [{"type": "command", "command": "late"}]})
    data["hooks"]["PreCompact"][0]["hooks"].append({"type": "command", "command": "guest in our group"})
    data["theme"] = "dark"
    machine.write(json.dumps(data, indent=7))
    machine.install()
    assert not machine.install().changed
    machine.uninstall()
    wanted = json.loads(json.dumps(OTHERS))
    wanted["hooks"]["Stop"].insert(0, {"hooks": [{"type": "command", "command": "late"}]})
    wanted["hooks"]["PreCompact"] = [{"hooks": [{"type": "command", "command": "guest in our group"}]}]
    wanted["theme"] = "dark"
    assert machine.read() == wanted
    assert machine.settings.read_text() == json.dumps(wanted, indent=7)


def test_a_lost_record_does_not_hide_our_entries(machine: Machine) -> None:
    """Handlers are known by their path, whatever happened to the record."""
    machine.write(OTHERS)
    machine.install(allow_lookup=True)
    (machine.home / "install.json").write_text("{")
    machine.upgrade()
    assert any("could not be understood" in text for text in machine.install().plan.warnings)
    assert without_ours(machine)["hooks"]["Stop"] == OTHERS["hooks"]["Stop"]
    assert len(list(machine.read()["hooks"]["PreCompact"])) == 1
    (machine.home / "install.json").unlink()
    machine.uninstall()
    left = machine.read()
    assert {event: groups for event, groups in left["hooks"].items() if groups} == OTHERS["hooks"]


def test_a_hand_edited_entry_of_ours_is_put_right(machine: Machine) -> None:
    """Changed options of our own entries are updated, doubled ones become one."""
    machine.write(OTHERS)
    machine.install()
    good = machine.read()
    data = machine.read()
    data["hooks"]["PreCompact"][0]["hooks"][0]["timeout"] = 1
    data["hooks"]["Stop"].append(data["hooks"]["Stop"][-1])
    machine.write(data)
    machine.install()
    assert machine.read() == good


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
handler = st.fixed_dictionaries({"type": st.just("command"), "command": st.text(max_size=9)}) | anything
group = (
    st.fixed_dictionaries({"hooks": st.lists(handler, max_size=2)}, optional={"matcher": st.text(max_size=5)})
    | anything
)
event = st.sampled_from(["Stop", "SessionStart", "PreCompact", "PostToolUse", "Other"])
settings_objects = st.fixed_dictionaries(
    {},
    optional={
        "hooks": st.dictionaries(event, st.lists(group, max_size=3), max_size=4),
        "env": st.dictionaries(st.sampled_from(["A", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"]), scalars, max_size=2),
        "permissions": st.fixed_dictionaries({}, optional={"allow": st.lists(scalars, max_size=3), "deny": anything}),
        "autoCompactWindow": scalars,
        "x": anything,
    },
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    value=settings_objects,
    indent=st.sampled_from([None, 0, 2, 4, "\t"]),
    line=st.sampled_from(["\n", "\r\n"]),
    ascii_only=st.booleans(),
)
def test_any_settings_come_back(
    machine: Machine, value: dict[str, Any], indent: int | str | None, line: str, *, ascii_only: bool
) -> None:
    """For every settings object: with its backup byte for byte, without it in meaning; and once is as good as twice."""
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only).replace("\n", line)
    raw = machine.write(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hosts, "check_interpreter", lambda _: None)  # the same one each time
        patch.setattr(os, "fsync", lambda _: None)
        machine.install(allow_lookup=True, threshold="20", window=200_000)
        assert not machine.install().changed
        machine.uninstall()
    assert machine.settings.read_bytes() == raw

    wanted = entries.Wanted(
        install.handlers("py", machine.host.hooks / "v", batch=True, parts=2), {("env", "B"): "1"}, ("R",)
    )
    added, ours = entries.add(text, wanted)
    assert json_text.parse(entries.strip(added, machine.host.hooks, ours)).plain() == value

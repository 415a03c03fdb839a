"""Against recordings of lcm-tui: the same commands on the same stores change the same rows and send the same data.

Each file of ``golden/`` is run as it was recorded, on a copy in DELETE mode and on one in WAL mode, with a stand-in that
gives the recorded replies in their order. Where we differ on purpose, the tests say how.
"""

import json
import re
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lcm_lab import tokens
from lcm_lab.summarizer.prompting import fenced
from lcm_lab.summarizer.provider import DEFAULT_MODEL, DOCTOR_MODEL
from tests.command import Done, beside, lcm_lab
from tests.conftest import SHARED
from tests.stand_in import StandIn, ok

GOLDEN = SHARED / "golden"
CASES = sorted(path.stem for path in GOLDEN.glob("*.json")) if GOLDEN.is_dir() else ["not at hand"]
MODES = ["delete", "wal"]
FOOTER = "\nExpand for details about: the decision"
TAKEN = [
    "sum_9c8aae1d0dd41d48",
    "sum_53584d9746163ca5",
    "sum_37a70735c2e1afc2",
    "sum_d781dcb955460746",
    "sum_e91686f0a1d36dd6",
    "sum_4f6aea8d10bb3dbd",
    "sum_9f1241327e09cbbe",
]
"""What repair and doctor of ours take in conversation 1 of corrupt.db, in this order."""

Row = dict[str, Any]


class Case:
    """One recording, and a store of ours to run it on."""

    def __init__(self, name: str, mode: str, folder: Path) -> None:
        self.golden = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
        self.path = folder / "state" / "lcm.db"
        self.path.parent.mkdir()
        self.home = folder / "home"
        shutil.copyfile(SHARED / "stores" / self.golden["store"], self.path)
        self.path.chmod(0o600)
        with closing(sqlite3.connect(self.path)) as connection:
            assert connection.execute(f"PRAGMA journal_mode={mode}").fetchone()[0] == mode
        self.before = tables(self.path)

    def run(self, replies: list[str] | None = None) -> tuple[list[Done], list[str]]:
        """What the recorded commands did, and the prompts that were sent."""
        given = [one["reply"] for one in self.golden.get("requests", [])] if replies is None else replies
        with StandIn(*map(ok, given)) as server:
            done = []
            for line in self.golden["commands"]:
                asks = line.split()[0] in ("rewrite", "repair", "doctor")
                to = ("--base-url", server.url, "--jobs", "1") if asks else ()
                done.append(lcm_lab(*line.split(), *to, "--db", self.path, home=self.home))
            return done, [one.prompt for one in server.requests]

    def changes(self) -> dict[str, dict[str, list[Row]]]:
        """Rows that disappeared and rows that appeared, as the recordings tell it."""
        return changed(self.before, tables(self.path))


def tables(path: Path) -> dict[str, list[Row]]:
    """The rows of every table that is not part of full-text search."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        wanted = [one for one in names if "fts" not in one and not one.startswith("sqlite_")]
        return {one: [dict(row) for row in connection.execute(f'SELECT * FROM "{one}"')] for one in wanted}


def changed(before: dict[str, list[Row]], after: dict[str, list[Row]]) -> dict[str, dict[str, list[Row]]]:
    """What differs between two states, table by table."""
    found = {}
    for name in before:
        old, new = (Counter(json.dumps(row, sort_keys=True) for row in one[name]) for one in (before, after))
        removed, added = (
            [json.loads(one) for one in (old - new).elements()],
            [json.loads(one) for one in (new - old).elements()],
        )
        if removed or added:
            found[name] = {"removed": removed, "added": added}
    return found


def bag(rows: list[Row], *without: str) -> Counter[str]:
    """Rows without an order, and without these columns."""
    return Counter(
        json.dumps({name: value for name, value in row.items() if name not in without}, sort_keys=True) for row in rows
    )


def new_items(changes: dict[str, list[Row]]) -> list[Row]:
    """The context items added, without the time of those that were not there before: it is the time of the run."""
    known = {(one["item_type"], one["summary_id"], one["message_id"]) for one in changes["removed"]}
    return [
        {
            **one,
            "created_at": one["created_at"] if (one["item_type"], one["summary_id"], one["message_id"]) in known else 0,
        }
        for one in changes["added"]
    ]


def full_text(path: Path) -> dict[str, str]:
    """What full-text search holds of each summary; empty where the store has no such table."""
    with closing(sqlite3.connect(path)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'summaries_fts'").fetchone():
            return {}
        return dict(connection.execute("SELECT summary_id, content FROM summaries_fts"))


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    """The journal mode of the store."""
    return str(request.param)


@pytest.fixture
def name(request: pytest.FixtureRequest, shared: Path) -> str:
    """The recording, where the real inputs are at hand."""
    return str(request.param)


def only(*beginnings: str) -> pytest.MarkDecorator:
    """The recordings whose names begin so; at least one."""
    found = [one for one in CASES if one.startswith(beginnings)] or CASES[:1]
    return pytest.mark.parametrize("name", found, indirect=True)


def test_every_recording_is_compared(shared: Path) -> None:
    compared = ("small-dissolve-", "old-dissolve", "small-rewrite-", "mixed-rewrite-", "corrupt-", "small-transplant-")
    assert CASES
    assert [one for one in CASES if not one.startswith(compared)] == []


# ---- dissolve -------------------------------------------------------------------------------------------------------


@only("old-dissolve", "small-dissolve-d1", "small-dissolve-d2-purge")
def test_dissolve_changes_the_same_rows(name: str, mode: str, tmp_path: Path) -> None:
    case = Case(name, mode, tmp_path)
    dry = [line.replace(" --apply", "") for line in case.golden["commands"]]
    assert lcm_lab(*dry[0].split(), "--db", case.path, home=case.home).code == 0
    assert (case.changes(), beside(case.path)) == ({}, [])
    done, _ = case.run()
    assert [one.code for one in done] == case.golden["exit_codes"] == [0], done
    ours, theirs = case.changes(), case.golden["changes"]
    assert set(ours) == set(theirs)
    for table in theirs:
        assert bag(ours[table]["removed"]) == bag(theirs[table]["removed"])
        if table != "context_items":
            assert bag(ours[table]["added"]) == bag(theirs[table]["added"])
    assert bag(new_items(ours["context_items"])) == bag(new_items(theirs["context_items"]))
    # Full-text rows follow: lcm-tui left that of the deleted summary.
    stored = {row["summary_id"] for row in tables(case.path)["summaries"]}
    assert set(full_text(case.path)) <= stored
    assert len([one for one in beside(case.path) if one.endswith(".bak")]) == 1
    assert lcm_lab("undo", "--apply", "--db", case.path, home=case.home).code == 0
    assert case.changes() == {}


@only("small-dissolve-inactive", "small-dissolve-leaf")
def test_what_lcm_tui_refused_is_refused(name: str, mode: str, tmp_path: Path) -> None:
    case = Case(name, mode, tmp_path)
    done, _ = case.run()
    assert case.golden["exit_codes"] == [1]
    assert [one.code for one in done] == [3]
    words = "not in the active context" if "inactive" in name else "is not condensed: it is a leaf (depth 0)"
    assert words in done[0].err
    assert (done[0].out, case.changes(), beside(case.path)) == ("", {}, [])


@only("small-dissolve-d2-keep-then-child")
def test_a_kept_summary_holds_its_sources(name: str, mode: str, tmp_path: Path) -> None:
    """A deliberate difference: lcm-tui left the kept one with a source that is gone."""
    case = Case(name, mode, tmp_path)
    done, _ = case.run()
    assert [one.code for one in done] == [0, 3]
    assert "sum_9f1241327e09cbbe" in done[1].err
    assert "--splice" in done[1].err
    assert "--purge=false" in done[1].err
    like_purged = json.loads((GOLDEN / "small-dissolve-d2-purge.json").read_text())["changes"]["context_items"]
    ours = case.changes()
    assert set(ours) == {"context_items"}
    assert bag(ours["context_items"]["removed"]) == bag(like_purged["removed"])
    assert bag(new_items(ours["context_items"])) == bag(new_items(like_purged))
    second = ("dissolve", "1", "--summary-id", "sum_e91686f0a1d36dd6", "--apply", "--db", case.path)
    kept = lcm_lab(*second, "--purge=false", home=case.home)
    assert kept.code == 0, kept.err
    assert set(case.changes()) == {"context_items"}
    with closing(sqlite3.connect(case.path)) as connection:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


# ---- rewrite --------------------------------------------------------------------------------------------------------


@only("small-rewrite-", "mixed-rewrite-")
def test_rewrite_sends_the_same_and_changes_the_same_rows(name: str, mode: str, tmp_path: Path) -> None:
    case = Case(name, mode, tmp_path)
    requests = case.golden["requests"]
    done, prompts = case.run()
    assert [one.code for one in done] == case.golden["exit_codes"] == [0], done[0].err
    assert len(prompts) == len(requests)
    for prompt, asked in zip(prompts, requests, strict=True):
        assert fenced(asked["source_text"]) in prompt
        assert f"about {asked['target_tokens']} tokens" in " ".join(prompt.split())
        if asked["previous_context"] is None:
            assert "</previous_context>" not in prompt
        else:
            assert f"<previous_context>\n{fenced(asked['previous_context'])}\n</previous_context>" in prompt
    ours, theirs = case.changes(), case.golden["changes"]
    assert set(ours) == set(theirs) == {"summaries"}
    after = {row["summary_id"]: row for row in tables(case.path)["summaries"]}
    before = {row["summary_id"]: row for row in case.before["summaries"]}
    rewritten = {row["summary_id"] for row in theirs["summaries"]["added"]}
    assert {one for one in after if after[one]["content"] != before[one]["content"]} == rewritten
    replies = {one["summary_id"]: one["reply"] for one in requests}
    for one in rewritten:
        new = {"content": replies[one], "token_count": tokens.plugin_tokens(replies[one]), "model": DEFAULT_MODEL}
        counted = {"descendant_token_count": after[one]["descendant_token_count"]}
        assert after[one] == {**before[one], **new, **counted}
    as_derived(after, before, rewritten, case.before["summary_parents"])
    assert full_text(case.path).items() >= replies.items()
    assert len([file for file in beside(case.path) if file.endswith(".bak")]) == 1


def as_derived(after: dict[str, Row], before: dict[str, Row], rewritten: set[str], edges: list[Row]) -> None:
    """Our difference: what derived summaries count of the tokens below them follows; nothing else of others changes."""
    difference = {one: after[one]["token_count"] - before[one]["token_count"] for one in rewritten}
    for one, row in after.items():
        below = list_below(one, edges)
        count = before[one]["descendant_token_count"] + sum(difference.get(source, 0) for source in below)
        if not before[one]["descendant_token_count"]:
            count = before[one]["descendant_token_count"]
        assert row["descendant_token_count"] == count
        if one not in rewritten:
            assert row == {**before[one], "descendant_token_count": count}


def list_below(one: str, edges: list[Row]) -> list[str]:
    """All that a summary was made from, each as often as there are ways to it."""
    found = [edge["parent_summary_id"] for edge in edges if edge["summary_id"] == one]
    return found + [deeper for source in found for deeper in list_below(source, edges)]


# ---- repair and doctor ----------------------------------------------------------------------------------------------


@only("corrupt-")
def test_the_broken_ones_are_taken_in_the_same_order(name: str, mode: str, tmp_path: Path) -> None:
    """Ours takes seven with either command, see the README beside the recordings."""
    case = Case(name, mode, tmp_path)
    recorded = {one["summary_id"]: one for one in case.golden["requests"]}
    replies = [f"Decision {number} was kept." + FOOTER for number in range(len(TAKEN))]
    done, prompts = case.run(replies=replies)
    assert [one.code for one in done] == case.golden["exit_codes"] == [0], done[0].err
    assert len(prompts) == len(TAKEN) == 7
    common = [one for one in recorded if one in TAKEN]
    assert [one for one in TAKEN if one in recorded] == common
    assert set(recorded) - set(TAKEN) <= {"sum_4ae66c36048804ae"}
    for one, prompt in zip(TAKEN, prompts, strict=True):
        assert "[LCM fallback summary; truncated" not in prompt.replace(quoted(case), "")
        if recorded.get(one, {}).get("target_tokens") == 192:
            assert re.search(r"^\[2026-\d\d-\d\d \d\d:\d\d UTC\] \[user\] ", prompt, re.MULTILINE)
        if one in recorded:
            assert f"about {recorded[one]['target_tokens']} tokens" in " ".join(prompt.split())
    after = {row["summary_id"]: row for row in tables(case.path)["summaries"]}
    before = {row["summary_id"]: row for row in case.before["summaries"]}
    assert {one for one in after if after[one]["content"] != before[one]["content"]} == set(TAKEN)
    model = DOCTOR_MODEL if name.startswith("corrupt-doctor") else DEFAULT_MODEL
    for one, reply in zip(TAKEN, replies, strict=True):
        assert (after[one]["content"], after[one]["model"]) == (reply, model)
        assert after[one]["token_count"] == tokens.plugin_tokens(reply)
        assert full_text(case.path)[one] == reply
    as_derived(after, before, set(TAKEN), case.before["summary_parents"])
    assert set(case.changes()) == {"summaries"}
    again = lcm_lab("repair", "1", "--db", case.path, home=case.home)
    assert (again.code, "No summary in conversation 1 is broken." in again.out) == (0, True)
    with closing(sqlite3.connect(case.path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def quoted(case: Case) -> str:
    """The text of the healthy summary that only quotes a mark; it may be part of a prompt."""
    return next(
        str(row["content"]) for row in case.before["summaries"] if row["summary_id"] == "sum_4ae66c36048804ae"
    ).strip()


# ---- transplant -----------------------------------------------------------------------------------------------------


@only("small-transplant-")
def test_transplant_adds_the_same_rows(name: str, mode: str, tmp_path: Path) -> None:
    case = Case(name, mode, tmp_path)
    done, _ = case.run()
    assert [one.code for one in done] == case.golden["exit_codes"] == [0], done[0].err
    ours, theirs = case.changes(), case.golden["changes"]
    # Our differences: rows of large files come along; times, counts, model and a message's sender are kept.
    assert set(ours) == {*theirs, "large_files"}
    for table in theirs:
        assert len(ours[table]["added"]) == len(theirs[table]["added"])
    lost = ("earliest_at", "latest_at", "descendant_count", "descendant_token_count", "source_message_token_count")
    more = ("model", "identity_hash", "transcript_entry_id", "stable_event_key", "openclaw_sender_metadata")
    ids = ("summary_id", "message_id", "part_id", "large_content")
    for table in ("summaries", "messages", "message_parts"):
        assert bag(named(ours[table]["added"]), *lost, *more, *ids) == bag(
            named(theirs[table]["added"]), *lost, *more, *ids
        )
    kept = (*lost, "model", "content", "created_at", "depth")
    originals = [row for row in case.before["summaries"] if row["conversation_id"] == 1]
    assert {tuple(row[one] for one in kept) for row in named(ours["summaries"]["added"])} <= {
        tuple(row[one] for one in kept) for row in named(originals)
    }
    files = {row["file_id"]: row["conversation_id"] for row in tables(case.path)["large_files"]}
    for row in ours["summaries"]["added"]:
        assert all(files[one] == 2 for one in json.loads(row["file_ids"]))
    assert edges(ours) == edges(theirs)
    assert links(ours) == links(theirs)
    assert bag(ours["context_items"]["removed"]) == bag(theirs["context_items"]["removed"])
    assert context(ours) == context(theirs)
    twice, _ = case.run()
    assert [one.code for one in twice] == [3]
    assert "would be twice" in twice[0].err
    assert case.changes() == ours


def named(rows: list[Row]) -> list[Row]:
    """Rows in which no file has an id of its own: copies of large files have new ones."""
    return [json.loads(re.sub(r"file_[0-9a-f]{16}", "file", json.dumps(row))) for row in rows]


def key_of(changes: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """What stands for each new summary, whose id is random."""
    return {one["summary_id"]: (one["created_at"], one["content"]) for one in named(changes["summaries"]["added"])}


def edges(changes: dict[str, Any]) -> list[Any]:
    """The new edges, by content."""
    keys = key_of(changes)
    rows = changes["summary_parents"]["added"]
    return sorted((keys[row["summary_id"]], keys[row["parent_summary_id"]], row["ordinal"]) for row in rows)


def links(changes: dict[str, Any]) -> list[Any]:
    """The new links of summaries to messages, by content and place."""
    keys = key_of(changes)
    seqs = {row["message_id"]: row["seq"] for row in changes["messages"]["added"]}
    rows = changes["summary_messages"]["added"]
    return sorted((keys[row["summary_id"]], seqs[row["message_id"]], row["ordinal"]) for row in rows)


def context(changes: dict[str, Any]) -> list[Any]:
    """The items of the context by place, new summaries by content, without the time of the run."""
    keys = key_of(changes)
    return sorted(
        (
            one["ordinal"],
            one["item_type"],
            one["message_id"],
            keys.get(one["summary_id"], one["summary_id"]),
            one["created_at"],
        )
        for one in new_items(changes["context_items"])
    )

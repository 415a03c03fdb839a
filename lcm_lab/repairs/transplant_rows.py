"""The rows a transplant adds: copies of whole rows with new ids, owned by the target.

The invariant: a copied row differs from its original only in ids and owner (and in the two keys that are unique in a
conversation, where the target has them already). Texts stay as they are byte for byte, and so do the hashes of them,
which also lets a second transplant see what the first one did.

Large files: a ``large_files`` row belongs to one conversation, so the target gets rows of its own, under new ids, for
every file that copied rows name; ``summaries.file_ids`` and ``messages.large_content`` name those. The payload is
neither copied nor moved: ``storage_uri`` stays. Placeholders inside texts keep the old id, which still leads to the
row of the source; to write another id there would change what was said, and every hash of it.
"""

import json
import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from lcm_lab import times
from lcm_lab.errors import Refused
from lcm_lab.repairs.edits import Edit, InsertRows
from lcm_lab.repairs.transplant_dag import Selection
from lcm_lab.store import copying, images
from lcm_lab.store.connect import Reader
from lcm_lab.store.images import Image, Value

UNIQUE: Final = ("transcript_entry_id", "stable_event_key")
"""Columns of ``messages`` whose values may be there once in a conversation."""

_FILE_ID: Final = re.compile(r"\bfile_[0-9a-f]{16}\b", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Copies:
    """The edits that add the rows; ``new_ids`` gives the summary in the target for each one of the source."""

    edits: tuple[Edit, ...]
    new_ids: dict[str, str]
    messages: int
    parts: int
    files: int
    keys_left_out: int


def copies(reader: Reader, selection: Selection, target_id: int) -> Copies:
    """The rows that make copies of what was selected.

    Raises:
        Refused: messages would be copied, and the target has no session they could belong to.
    """
    session = _session(reader, target_id) if selection.messages else ""
    new_ids = {**selection.linked, **_new_ids(selection.summaries)}
    originals = sorted(selection.messages, key=_moment)
    numbers = {row["message_id"]: -1 - i for i, row in enumerate(originals)}
    parts = copying.rows_of(reader, "message_parts", "message_id", list(numbers))
    parts.sort(key=lambda row: (-numbers[row["message_id"]], str(row["ordinal"]).zfill(12)))
    files, file_ids = _files(reader, target_id, [*selection.summaries, *originals, *parts])
    messages, left_out = _messages(reader, originals, numbers, file_ids, target_id)
    tables: list[tuple[str, list[Image]]] = [
        ("large_files", files),
        ("messages", messages),
        (
            "message_parts",
            [
                {
                    **row,
                    "part_id": str(uuid.uuid4()),
                    "message_id": numbers[row["message_id"]],
                    "session_id": session,
                }
                for row in parts
            ],
        ),
        ("summaries", [_summary(row, new_ids, file_ids, target_id) for row in selection.summaries]),
        (
            "summary_messages",
            [
                {**row, "summary_id": new_ids[str(row["summary_id"])], "message_id": numbers[row["message_id"]]}
                for row in selection.links
            ],
        ),
        (
            "summary_parents",
            [
                {
                    **row,
                    "summary_id": new_ids[str(row["summary_id"])],
                    "parent_summary_id": new_ids[str(row["parent_summary_id"])],
                }
                for row in selection.edges
            ],
        ),
    ]
    edits = tuple(InsertRows(table, tuple(rows)) for table, rows in tables if rows)
    return Copies(edits, new_ids, len(messages), len(parts), len(files), left_out)


def _session(reader: Reader, target_id: int) -> Value:
    row = images.image(reader, "conversations", target_id) or {}
    session = row.get("session_id")
    if not copying.text_bytes(session).strip():
        raise Refused(
            f"Conversation {target_id} has no session id, and the parts of copied messages must name one. Choose "
            "another target, or let the plugin begin the session first."
        )
    return session


def _new_ids(rows: list[Image]) -> dict[str, str]:
    # Given out in order, so that copies of one depth and time stand in a context as their originals did.
    names = sorted(f"sum_{uuid.uuid4().hex[:16]}" for _ in rows)
    return {str(row["summary_id"]): name for row, name in zip(rows, names, strict=True)}


def _moment(row: Image) -> tuple[float, str, int, int, int]:
    """When a message was said: by parsed time, since a store may hold two spellings, and then in its old order."""
    written = row.get("created_at")
    text = written if isinstance(written, str) else ""
    moment = times.parse(text)
    numbers = [row.get(name) for name in ("conversation_id", "seq", "message_id")]
    first, second, third = (one if isinstance(one, int) else 0 for one in numbers)
    return (moment.timestamp() if moment else float("inf"), "" if moment else text, first, second, third)


def _messages(
    reader: Reader, rows: list[Image], numbers: dict[Value, int], file_ids: dict[str, str], target_id: int
) -> tuple[list[Image], int]:
    """The copies, and how many unique keys stay empty because the target has them already."""
    unique = {name: copying.taken(reader, target_id, name) for name in UNIQUE if reader.schema.has("messages", name)}
    hashed = reader.schema.has("messages", "identity_hash")
    made, left_out = [], 0
    for row in rows:
        new = {**row, "message_id": numbers[row["message_id"]], "conversation_id": target_id, "seq": None}
        for name, taken in unique.items():
            if row[name] is not None and row[name] in taken:
                new[name] = None
                left_out += 1
            taken.add(row[name])
        if hashed and row["identity_hash"] is None:
            new["identity_hash"] = copying.identity_hash(row["role"], row["content"])
        large = row.get("large_content")
        if isinstance(large, str):
            new["large_content"] = file_ids.get(large.strip().lower(), large)
        made.append(new)
    return made, left_out


def _summary(row: Image, new_ids: dict[str, str], file_ids: dict[str, str], target_id: int) -> Image:
    new = {**row, "summary_id": new_ids[str(row["summary_id"])], "conversation_id": target_id}
    listed = row.get("file_ids")
    if isinstance(listed, str) and file_ids:
        new["file_ids"] = _renamed(listed, file_ids)
    return new


def _renamed(listed: str, file_ids: dict[str, str]) -> str:
    """A JSON list of file ids with new names; anything else, and a list without a file that was copied, as it is."""
    try:
        found = json.loads(listed)
    except ValueError:
        return listed
    if not isinstance(found, list) or not any(isinstance(one, str) and one.lower() in file_ids for one in found):
        return listed
    renamed = [file_ids.get(one.lower(), one) if isinstance(one, str) else one for one in found]
    return json.dumps(renamed, ensure_ascii=False, separators=(",", ":"))


def _files(reader: Reader, target_id: int, rows: Iterable[Image]) -> tuple[list[Image], dict[str, str]]:
    """Rows for the files that ``rows`` name anywhere, and the name each has in the target.

    A file the target has a row for already, by its id or by where its payload lies, keeps that row.
    """
    named = {
        one.lower()
        for row in rows
        for value in row.values()
        if isinstance(value, str) and "file_" in value.lower()
        for one in _FILE_ID.findall(value)
    }
    found = copying.rows_of(reader, "large_files", "file_id", sorted(named))
    if not found:
        return [], {}
    own = images.images(reader, "large_files", {"conversation_id": target_id}, order=["created_at", "file_id"])
    stored: dict[Value, str] = {}
    for row in own:
        if row["storage_uri"]:
            stored.setdefault(row["storage_uri"], str(row["file_id"]))
    made, names = [], {}
    for row in sorted(found, key=lambda one: (str(one["created_at"]), str(one["file_id"]))):
        old = str(row["file_id"])
        if row["conversation_id"] == target_id:
            continue
        if row["storage_uri"] in stored:
            names[old] = stored[row["storage_uri"]]
            continue
        names[old] = f"file_{uuid.uuid4().hex[:16]}"
        if row["storage_uri"]:
            stored[row["storage_uri"]] = names[old]
        made.append({**row, "file_id": names[old], "conversation_id": target_id})
    return made, names

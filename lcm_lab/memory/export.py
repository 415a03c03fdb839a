"""The memory as files: each table as CSV and as JSON, in a folder of their own.

Invariant: as for a store's export, the folder never holds half a file, and nothing that is not from an export is
replaced; files are for their owner only. Checked by ``tests/memory/test_export.py``.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from lcm_lab.analysis.export import prepare_folder, put_file
from lcm_lab.analysis.frames import run
from lcm_lab.memory.frames import MemoryFrames
from lcm_lab.memory.results import RULE, MemoryExport
from lcm_lab.store.schema import quote

FORMATS: Final = ("csv", "json")


def export(
    frames: MemoryFrames, folder: Path, *, session_id: str | None, bodies: bool, overwrite: bool
) -> MemoryExport:
    """Write every table, or the rows of one session, into a new or empty folder.

    Raises:
        Refused: the folder holds other files.
    """
    target = folder.expanduser().resolve()
    earlier = prepare_folder(target, overwrite=overwrite)
    snapshot = frames.take(bodies=bodies, folder=target)
    files = []
    try:
        for name in snapshot.names:
            frame = run(snapshot, f"SELECT * FROM main.{quote(name)} ORDER BY ALL")
            if session_id is not None:
                frame = frame[frame["session_id"] == session_id]
            for form in FORMATS:
                if form == "csv":
                    text = frame.to_csv(index=False, lineterminator="\n")
                else:
                    text = frame.to_json(orient="records", date_format="iso", force_ascii=False, indent=1) + "\n"
                path = target / f"{name}.{form}"
                put_file(path, text)
                files.append((path.name, name, len(frame), path.stat().st_size))
    finally:
        snapshot.connection.close()
    report = MemoryExport(target, tuple(files), frames.zone.name, session_id, bodies)
    for name in earlier - {one[0] for one in files}:
        (target / name).unlink(missing_ok=True)
    _describe(report)
    return report


def _describe(report: MemoryExport) -> None:
    manifest = {
        "written_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "session_id": report.session_id,
        "bodies": report.bodies,
        "tokens": RULE,
        "files": [
            {"name": name, "table": table, "rows": rows, "bytes": size} for name, table, rows, size in report.files
        ],
    }
    put_file(report.folder / "export.json", json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")

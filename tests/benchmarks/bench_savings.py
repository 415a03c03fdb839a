"""How long it takes to replay sessions: the real ones where they are at hand, and 20 MB of made-up ones, within 60 s.

Run: python tests/benchmarks/bench_savings.py
"""

import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lcm_lab import bench  # noqa: E402
from tests.analysis.savings.made_up import coding  # noqa: E402
from tests.benchmarks.report import Row, show, write  # noqa: E402

TITLE = "Savings: sessions replayed under every policy"
LIMIT = 60.0
MADE_UP = 20_000_000


def main() -> int:
    """Measure; 1 where it took longer than the limit."""
    shared = Path(os.environ.get("LCM_LAB_SHARED", ROOT.parent / "shared")) / "transcripts" / "claude-code"
    with tempfile.TemporaryDirectory() as name:
        size = 0
        number = 0
        while size < MADE_UP:
            made = coding(number, turns=24, calls=8, size=6_000).write(Path(name) / f"made-{number}.jsonl")
            size += made.stat().st_size
            number += 1
        paths = [Path(name), *([shared] if shared.is_dir() else [])]
        total = sum(one.stat().st_size for path in paths for one in path.rglob("*.jsonl"))
        start = time.perf_counter()
        report = bench.savings(*paths)
        seconds = time.perf_counter() - start
    note = f"{len(report.sessions)} sessions, {sum(one.requests for one in report.sessions):,} requests, {total / 1e6:.1f} MB; "
    note += f"{len(report.lines) + len(report.sweep)} policies and settings."
    rows = [Row("bench savings, wall, against 60 s", seconds, LIMIT, 1.0)]
    show(TITLE, rows, note=note)
    write(TITLE, rows, note=note)
    return int(not all(row.passed for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())

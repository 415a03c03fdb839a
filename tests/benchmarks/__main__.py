"""All benchmarks, one after the other: ``make bench`` prints their tables and writes bench-report.md."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    """Run each in a process of its own; 1 where one broke a limit."""
    codes = [
        subprocess.run([sys.executable, str(one), *sys.argv[1:]], check=False).returncode
        for one in sorted(HERE.glob("bench_*.py"))
    ]
    return int(any(codes))


if __name__ == "__main__":
    raise SystemExit(main())

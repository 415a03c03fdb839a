"""Directives of the demo text: long, dull output that nobody wants to read in a source file, made on the spot.

``{{access 40 2026-03-02T09:00}}`` stands for forty lines of a web server's log. Invariant: a directive's text depends
on its arguments alone: the chance behind it is seeded with them and uses only ``Random.random``, whose sequence Python
keeps from version to version.
"""

import base64
import json
import re
import struct
import zlib
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import lru_cache
from random import Random
from typing import Final

_DIRECTIVE: Final = re.compile(r"\{\{(\w+)((?: [^\s{}]+)*)\}\}")


def fill(text: str) -> str:
    """``text`` with each ``{{kind arguments}}`` replaced; kinds that are not known here stay as they are.

    >>> fill("no directive"), fill("{{source 100}}")
    ('no directive', '{{source 100}}')
    """
    return _DIRECTIVE.sub(_made, text) if "{{" in text else text


def _made(match: re.Match[str]) -> str:
    kind, arguments = match[1], match[2].split()
    return _make(kind, tuple(arguments)) if kind in _KINDS else match[0]


@lru_cache(maxsize=256)
def _make(kind: str, arguments: tuple[str, ...]) -> str:
    return _KINDS[kind](_Dice(f"{kind} {' '.join(arguments)}"), *arguments)


class _Dice(Random):
    """Seeded chance, built on ``random()`` only."""

    def upto(self, limit: int) -> int:
        """A whole number from 0 to ``limit`` - 1."""
        return int(self.random() * limit)

    def one(self, choices: tuple[str, ...]) -> str:
        """One of ``choices``."""
        return choices[self.upto(len(choices))]

    def code(self, digits: int) -> str:
        """A hexadecimal code."""
        return "".join("0123456789abcdef"[self.upto(16)] for _ in range(digits))


_PATHS: Final = (
    "/",
    "/lamps",
    "/lamps/paper-moon",
    "/lamps/reed-globe",
    "/cart",
    "/cart/items",
    "/checkout",
    "/img/reed-globe-2.webp",
    "/api/stock",
    "/search?q=shade",
    "/account/orders",
    "/static/site.css",
)
_AGENTS: Final = ("Mozilla/5.0 (X11; Linux x86_64)", "Mozilla/5.0 (iPhone; CPU iPhone OS 18_3)", "uptime-probe/2.1")


def _access(dice: _Dice, count: str, start: str) -> str:
    at = datetime.fromisoformat(start)
    lines = []
    for _ in range(int(count)):
        at += timedelta(seconds=dice.upto(9))
        status = 200 if dice.random() < 0.93 else (404, 502, 301, 429)[dice.upto(4)]
        lines.append(
            f"203.0.113.{dice.upto(250)} - - [{at:%d/%b/%Y:%H:%M:%S} +0000] "
            f'"GET {dice.one(_PATHS)} HTTP/2.0" {status} {dice.upto(48000)} "-" "{dice.one(_AGENTS)}" '
            f"rt=0.{dice.upto(900):03d}"
        )
    return "\n".join(lines)


_UNITS: Final = ("shop-web", "shop-worker", "postgres", "redis", "systemd")
_EVENTS: Final = (
    "job mail.receipt finished in {} ms",
    "connection from 10.0.4.{} accepted",
    "checkpoint complete: {} buffers",
    "cache miss for key cart:{}",
    "GET /healthz 200 {} ms",
    "slow query: {} ms (orders by day)",
)


def _journal(dice: _Dice, count: str, start: str) -> str:
    at = datetime.fromisoformat(start)
    lines = []
    for _ in range(int(count)):
        at += timedelta(seconds=1 + dice.upto(40))
        event = dice.one(_EVENTS).format(dice.upto(950) + 3)
        lines.append(f"{at:%b %d %H:%M:%S} larch {dice.one(_UNITS)}[{1000 + dice.upto(60)}]: {event}")
    return "\n".join(lines)


def _sensors(dice: _Dice, count: str, start: str, node: str) -> str:
    at = datetime.fromisoformat(start)
    warm, damp = 17.5 + 3 * dice.random(), 58 + 10 * dice.random()
    lines = ["time,node,temp_c,humidity_pct,soil_pct,battery_v"]
    for _ in range(int(count)):
        at += timedelta(minutes=10)
        warm += (0.5 - dice.random()) * 0.6 + (0.12 if 8 <= at.hour < 15 else -0.05)
        damp += (0.5 - dice.random()) * 1.4
        soil = 31 + 4 * dice.random()
        lines.append(f"{at:%Y-%m-%dT%H:%M},{node},{warm:.1f},{damp:.0f},{soil:.1f},{3.9 - dice.random() / 20:.2f}")
    return "\n".join(lines)


_NAMES: Final = ("Paper Moon", "Reed Globe", "Harbour Lantern", "Tin Sail", "Juniper", "Folded Kite", "Linen Drum")
_FINISHES: Final = ("natural", "indigo", "soot", "chalk", "moss")


def _products(dice: _Dice, count: str) -> str:
    rows = []
    for number in range(int(count)):
        name, finish = dice.one(_NAMES), dice.one(_FINISHES)
        rows.append(
            {
                "sku": f"LT-{1000 + number}",
                "title": f"{name}, {finish}",
                "price_cents": 3900 + 100 * dice.upto(140),
                "stock": dice.upto(40),
                "images": [f"img/{dice.code(8)}.webp" for _ in range(1 + dice.upto(3))],
                "description": f"{name} shade in {finish}, cut and folded by hand. Fits E27 sockets up to 9 W.",
            }
        )
    return json.dumps(rows, ensure_ascii=False, indent=1)


def _orders(dice: _Dice, count: str, start: str) -> str:
    at = datetime.fromisoformat(start)
    lines = [" order_id |     placed_at     |  state   | total_cents | items", "-" * 60]
    for number in range(int(count)):
        at += timedelta(minutes=3 + dice.upto(50))
        state = dice.one(("paid", "paid", "packed", "shipped", "refunded"))
        lines.append(
            f" {48200 + number:8d} | {at:%Y-%m-%d %H:%M}  | {state:8s} "
            f"| {3900 + dice.upto(30000):11d} | {1 + dice.upto(4)}"
        )
    return "\n".join([*lines, f"({count} rows)"])


_SUITES: Final = ("cart", "checkout", "catalogue", "stock", "mail", "redirects", "accounts", "prices")


def _tests(dice: _Dice, count: str, failed: str) -> str:
    lines = ["collected " + count + " items", ""]
    bad = {dice.upto(int(count)) for _ in range(int(failed))}
    for number in range(int(count)):
        state = "FAILED" if number in bad else "PASSED"
        name = f"test_{dice.one(_SUITES)}.py::test_case_{number:03d}_{dice.code(4)}"
        lines.append(f"tests/{name} {state} [{100 * (number + 1) // int(count):3d}%]")
    return "\n".join([*lines, "", f"{len(bad)} failed, {int(count) - len(bad)} passed in {2 + 9 * dice.random():.2f}s"])


def _images(dice: _Dice, count: str) -> str:
    lines = []
    for _ in range(int(count)):
        size, width = 400 + dice.upto(5200), 1600 + 16 * dice.upto(200)
        lines.append(
            f"img/{2014 + dice.upto(12)}/{dice.one(_NAMES).lower().replace(' ', '_')}_{dice.upto(40):02d}.jpg "
            f"{width}x{width * 3 // 4} {size} kB -> {dice.code(12)}-{{320,800,1600}}.webp "
            f"{size // 40 + 6}+{size // 16 + 20}+{size // 7 + 40} kB"
        )
    return "\n".join(lines)


def _redirects(dice: _Dice, count: str) -> str:
    lines = []
    for number in range(int(count)):
        name = dice.one(_NAMES).lower().replace(" ", "-")
        old = f"/artikel.php?id={40 + dice.upto(1300)}" if number % 2 else f"/lampen/{40 + dice.upto(1300)}-{name}.html"
        lines.append(f"ok 301 {old} -> /lamps/{name}-{dice.one(_FINISHES)} ({4 + dice.upto(60)} ms)")
    return "\n".join(lines)


def picture(side: int = 38) -> bytes:
    """A small PNG, a pale leaf on dark ground, written without a compressor so that its bytes never change."""
    rows = bytearray()
    for y in range(side):
        rows.append(0)
        for x in range(side):
            across, along = abs(x - side / 2) / side, y / side
            leaf = across < 0.38 * (1 - abs(2 * along - 1))
            shade = int(160 * (1 - across)) if leaf else 24 + (x * 7 + y * 13) % 17
            rows += bytes((shade // 2 if leaf else shade, shade, shade // 3 if leaf else shade))
    stored = b"\x01" + struct.pack("<HH", len(rows), 0xFFFF - len(rows)) + rows
    packed = b"\x78\x01" + stored + struct.pack(">I", zlib.adler32(bytes(rows)))
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", packed), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )


def _picture(_dice: _Dice, side: str = "38") -> str:
    return "data:image/png;base64," + base64.b64encode(picture(int(side))).decode("ascii")


_KINDS: Final[dict[str, Callable[..., str]]] = {
    "access": _access,
    "journal": _journal,
    "sensors": _sensors,
    "products": _products,
    "orders": _orders,
    "tests": _tests,
    "images": _images,
    "redirects": _redirects,
    "picture": _picture,
}

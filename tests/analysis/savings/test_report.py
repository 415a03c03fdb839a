"""The whole report, on made-up sessions and on the committed traces; what the documentation says is what it says."""

import json
import re
from pathlib import Path

import pytest

from lcm_lab import bench, times
from lcm_lab.analysis.savings import claims, traces
from lcm_lab.analysis.savings.measures import spread
from lcm_lab.analysis.savings.policies import STANDARD
from lcm_lab.analysis.savings.report import Report
from lcm_lab.errors import NotFound, UsageError
from lcm_lab.views import savings, tables
from tests.analysis.savings.made_up import coding

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def committed() -> Report:
    """The report on the committed traces."""
    return bench.savings()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report on three made-up sessions."""
    folder = tmp_path_factory.mktemp("small")
    for i in range(3):
        coding(i, turns=6, calls=5, size=5_000).write(folder / f"s{i}.jsonl")
    return bench.savings(folder)


def test_every_part_of_a_report_has_its_numbers(small: Report) -> None:
    assert [one.policy for one in small.lines] == list(STANDARD)
    plain = small.lines[0]
    assert (plain.sessions, plain.saved_tokens, plain.saved_usd) == (3, 0.0, 0.0)
    assert plain.known.n == sum(one.n for one in plain.by_class)
    for line in small.lines:
        assert line.known.context + line.known.lookup + line.known.lost == line.known.n
        assert line.usd > 0
        assert line.read + line.written_5m + line.written_1h + line.uncached >= line.prompt_tokens
    shown = tables.of(small, times.zone("UTC"))
    assert len(shown) == 12
    assert all(one.columns for one in shown)


def test_a_price_and_a_cache_can_be_chosen(tmp_path: Path) -> None:
    path = coding(1, turns=3).write(tmp_path / "s.jsonl")
    cheap, dear = bench.savings(path, model="claude-haiku-4-5"), bench.savings(path, model="claude-opus-4-5")
    assert dear.lines[0].usd == pytest.approx(5 * cheap.lines[0].usd)
    none = bench.savings(path, lifetime="none")
    assert none.lines[0].read == 0
    with pytest.raises(UsageError, match="no price"):
        bench.savings(path, model="nobody-knows-it")
    with pytest.raises(UsageError, match="lives for"):
        bench.savings(path, lifetime="2h")
    with pytest.raises(NotFound):
        bench.savings(tmp_path / "missing")


def test_the_sizes_of_the_plugins_summaries_come_from_a_store(tmp_path: Path, base_store: Path) -> None:
    path = coding(1, turns=3).write(tmp_path / "s.jsonl")
    found = bench.savings(path, lcm_store=base_store)
    sizes = {
        (one.policy.plugin.leaf_target, one.policy.plugin.condensed_target)
        for one in found.lines
        if "LCM" in one.policy.name
    }
    assert sizes == {(6, 7)}
    assert "leaves of 6 tokens" in str(tables.of(found.part("policies"), times.zone("UTC")))


def test_progress_goes_from_nothing_to_all(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    bench.savings(
        coding(1, turns=2).write(tmp_path / "s.jsonl"), progress=lambda _, done, total: seen.append((done, total))
    )
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (100, 100)


def test_a_model_without_a_price_is_in_no_dollar_and_is_named(tmp_path: Path) -> None:
    made = coding(1, turns=3)
    for line in made.lines:
        if line["type"] == "assistant":
            line["message"]["model"] = "somebodys-own"
    coding(2, turns=3).write(tmp_path / "known.jsonl")
    made.write(tmp_path / "unknown.jsonl")
    found = bench.savings(tmp_path)
    assert found.unpriced == ("unknown",)
    assert found.lines[0].usd_spread is not None
    assert found.lines[0].usd_spread.n == 1
    assert "unknown" in str(tables.of(found, times.zone("UTC"))[0].notes)


def test_claims_are_answered_with_their_n(committed: Report) -> None:
    answers = claims.answers(committed)
    said = " ".join(one.claim for one in answers)
    for part in ("97 %", "87 %", "188K", "L1", "L2", "zero loss", "10 %", "95 %", "10 turns"):
        assert part in said
    assert all(re.search(r"\d", one.found) and re.match(r"\d+ ", one.n) for one in answers)


def test_the_documentation_holds_what_the_command_prints(committed: Report) -> None:
    text = (ROOT / "docs" / "benchmark.md").read_text("utf-8")
    begin, end = "<!-- printed by: lcm-lab bench savings --markdown -->\n", "<!-- end of what is printed -->"
    printed = text[text.index(begin) + len(begin) : text.index(end)]
    assert printed.strip() == savings.markdown(tables.of(committed, times.zone("UTC"))).strip()


def test_what_the_documentation_concludes_is_in_what_it_prints() -> None:
    text = (ROOT / "docs" / "benchmark.md").read_text("utf-8")
    concluded = text[text.index("## What comes out") : text.index("## How it is reckoned")]
    printed = text[text.index("<!-- printed by") :]
    shares = re.findall(r"\d+\.\d %", concluded)
    assert len(shares) > 10
    assert [one for one in shares if one not in printed] == []


def test_a_small_number_of_the_documentation_is_reckoned_from_the_traces_alone() -> None:
    """Without any of our code but the CSV files: what the API said the input of all requests was."""
    rows = (traces.SHIPPED / "requests.csv").read_text("utf-8").splitlines()
    heads = rows[0].split(",")
    prompts = [int(dict(zip(heads, row.split(","), strict=False))["prompt"]) for row in rows[1:]]
    text = (ROOT / "docs" / "benchmark.md").read_text("utf-8")
    assert f"{sum(prompts):,}" in text
    assert f"mean {sum(prompts) / len(prompts):,.0f}" in text


def test_the_traces_are_those_of_the_real_sessions(shared: Path, committed: Report) -> None:
    again = bench.savings(shared / "transcripts" / "claude-code")
    assert again.lines == committed.lines
    assert again.accuracies == committed.accuracies
    assert claims.answers(again) == claims.answers(committed)


def test_the_growth_predicted_from_text_stays_within_the_target(committed: Report) -> None:
    chosen = next(one for one in committed.accuracies if one.rule.endswith("each class"))
    assert len(chosen.faults) == 9
    assert chosen.median is not None
    assert chosen.median < 0.15


def test_spread_of_one_and_of_none() -> None:
    assert spread([]) is None
    one = spread([0.5])
    assert one is not None
    assert (one.n, one.lowest, one.median, one.highest) == (1, 0.5, 0.5, 0.5)


def test_sessions_of_other_agents_are_read_too(tmp_path: Path) -> None:
    call = {"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": "ls"}}
    result = [{"type": "text", "text": "a" * 40_000}]
    messages: list[dict[str, object]] = [
        {"role": "user", "content": "hello there"},
        {"role": "assistant", "content": [call], "usage": {"input": 3, "cacheWrite": 900, "output": 20}},
        {"role": "toolResult", "toolCallId": "c", "toolName": "bash", "content": result},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "done"}],
            "usage": {"cacheRead": 900, "cacheWrite": 703},
        },
    ]
    lines = [json.dumps({"type": "session", "id": "x"})]
    for second, message in enumerate(messages):
        stamped = {"type": "message", "timestamp": f"2026-01-01T00:00:0{second}Z"}
        lines.append(json.dumps({**stamped, "message": {**message, "model": "claude-sonnet-4-5"}}))
    path = tmp_path / "pi.jsonl"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    found = bench.savings(path)
    assert (found.sessions[0].requests, found.sessions[0].turns, found.sessions[0].cut_by_client) == (2, 1, 1)
    assert found.sessions[0].recorded_prompt == 903 + 1_603


@pytest.mark.parametrize("folder", ["pi", "openclaw"])
def test_real_sessions_of_other_agents(shared: Path, folder: str) -> None:
    found = bench.savings(shared / "transcripts" / folder)
    assert all(one.requests for one in found.sessions)
    assert found.lines[0].prompt_tokens > 0

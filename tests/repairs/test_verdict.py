"""Verdicts: what may be written, what a person must look at first, and what must not be written."""

import doctest
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lcm_lab import times, tokens
from lcm_lab.analysis.health import markers
from lcm_lab.repairs import chatter as chatter_module
from lcm_lab.repairs import scripts
from lcm_lab.repairs.chatter import chatter, preamble
from lcm_lab.repairs.gather import Material, gather
from lcm_lab.repairs.verdict import FOOTER, SMALL_SOURCE, Verdict, judge
from lcm_lab.store.connect import StoreFile
from lcm_lab.summarizer.seam import Draft

SOURCE = "\n".join(
    f"[2026-07-01 09:{minute:02} UTC] [user] Port {8000 + minute} is blocked by the firewall of the third site; try the next one."
    for minute in range(40)
)
SUMMARY = (
    "The user tried the ports 8000 to 8039 one by one on the third site. All of them were blocked by the firewall. "
    "No port was found that works; 443 was not tried.\nFiles: none\nExpand for details about: each port, the firewall."
)
MATERIAL = Material(
    summary_id="sum_x",
    conversation_id=1,
    kind="leaf",
    depth=0,
    label="leaf",
    old_content="raw",
    old_tokens=900,
    model="m",
    source_kind="messages",
    source_text=SOURCE,
    source_tokens=tokens.lcm_tui_tokens(SOURCE),
    source_items=40,
    source_count=40,
    time_range="2026-07-01 09:00 UTC - 2026-07-01 09:39 UTC",
    previous_context=None,
    previous_id=None,
    target_tokens=300,
    missing=(),
    broken_sources=(),
    problem=None,
)
TINY = replace(MATERIAL, source_text="[user] Take 443 then.\n[assistant] Port 443 answers.", target_tokens=192)


def verdict(
    text: str, *, strict: bool = True, footer: bool = True, stop: str | None = "end_turn", material: Material = MATERIAL
) -> Verdict:
    return judge(Draft(text, "m", "scripted", stop_reason=stop), material, strict=strict, footer_expected=footer)


def material_of(store: StoreFile, summary_id: str) -> Material:
    return store.read(lambda reader: gather(reader, 1, summary_id, zone=times.zone("UTC")))


def words(count: int) -> str:
    """A text of about ``count`` tokens that ends as a summary does."""
    return "The third site was tried again with a port. " * (count * 4 // 44) + f"\n{FOOTER} ports."


def test_doctests() -> None:
    assert doctest.testmod(chatter_module).failed == 0
    assert doctest.testmod(scripts).failed == 0


@pytest.mark.parametrize("strict", [True, False])
def test_a_summary_is_good(strict: bool) -> None:  # noqa: FBT001
    found = verdict(SUMMARY, strict=strict)
    assert (found.level, found.reasons, found.notes) == ("good", (), ())
    assert found.may_be_written
    assert found.tokens < found.source_tokens == tokens.plugin_tokens(SOURCE)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("text", ["", "  \n", "\t"])
def test_b12_an_empty_reply_is_refused(text: str, strict: bool) -> None:  # noqa: FBT001
    assert verdict(text, strict=strict).reasons == ("The reply is empty.",)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        f"{SUMMARY}\n{markers.FALLBACK}",
        f"{markers.FALLBACK}\n{SUMMARY}",
        f"{SUMMARY}\n[Truncated from 900 tokens]",
        f"{SUMMARY}\n{markers.DIRECTIVE}",
        f"{SUMMARY}\n{markers.EMERGENCY}",
    ],
)
def test_a_reply_with_a_mark_is_refused(text: str, strict: bool) -> None:  # noqa: FBT001
    found = verdict(text, strict=strict)
    assert found.level == "refuse"
    assert "itself marked as broken" in found.reasons[0]


def test_a_reply_that_quotes_a_mark_is_good_and_noted() -> None:
    found = verdict(f"The agent saw {markers.FALLBACK} in a log of the store and removed it. {SUMMARY}")
    assert found.level == "good"
    assert "does not count" in found.notes[0]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("stop", ["max_tokens", "length", "refusal", "content_filter"])
def test_a_reply_that_did_not_end_by_itself_is_refused(stop: str, strict: bool) -> None:  # noqa: FBT001
    assert verdict(SUMMARY, stop=stop, strict=strict).level == "refuse"


@pytest.mark.parametrize("strict", [True, False])
def test_b14_private_reasoning_is_refused(strict: bool) -> None:  # noqa: FBT001
    assert verdict(f"<think>plan</think>{SUMMARY}", strict=strict).level == "refuse"


CHAT = [
    "HEARTBEAT_OK",
    "**HEARTBEAT_OK**",
    "NO_REPLY",
    "OK.",
    "Understood!",
    "Sure! What would you like me to do?",
    "Hello! How can I help you today?",
    "I'm sorry, but I can't help with that request.",
    "I’m sorry, but I can’t assist with that.",
    "Sorry, I cannot summarize this conversation.",
    "I cannot provide a summary of this content.",
    "I'm unable to process the transcript you sent.",
    "As an AI language model, I have no access to earlier conversations.",
    "It looks like no conversation was included. Could you paste it here so I can summarize it?",
    "I don't see any conversation in your message.",
    "Please provide the text you want me to summarize.",
    "Got it, I will remember this for you.",
    "Your files look fine. Let me know if you need anything else!",
    "Es tut mir leid, aber ich kann diese Unterhaltung nicht zusammenfassen.",
    "Hallo! Wie kann ich Ihnen heute helfen?",
    "Je suis désolé, mais je ne peux pas vous aider avec cette demande.",
    "Bonjour ! Comment puis-je vous aider aujourd'hui ?",
    "Lo siento, no puedo ayudar con eso.",
    "¡Claro! ¿En qué puedo ayudarte hoy?",
    "Desculpe, mas não posso ajudar com isso.",
    "Извините, но я не могу помочь с этим запросом.",
    "抱歉，我无法提供这段对话的总结。",
    "您好！请问有什么可以帮您的吗？",
    "申し訳ありませんが、この会話を要約することはできません。",
    "죄송하지만 이 대화를 요약할 수 없습니다.",
]


@pytest.mark.parametrize("text", CHAT)
def test_b15_chat_is_refused_everywhere(text: str) -> None:
    for strict in (True, False):
        found = verdict(text, strict=strict, footer=False)
        assert found.level == "refuse", found
        assert any("not a summary" in reason for reason in found.reasons)


SUMMARIES = [
    SUMMARY,
    "Leaf 2a7e66.",
    '"Sure! What would you like me to do?" was all the delegate said, so its reply was dropped.',
    'User: "Sure", take 443. The assistant switched the port from 8080 to 443 and the site answers.',
    "Sure-footed rollout: 443 opened at 23:12, 8080 stays blocked.",
    "The assistant said: I'm sorry, but I can't open 8080. The user then chose 443.",
    "Hello-world example built in Rust; binary size 3 MB, start in 4 ms.",
    "User asked whether to use 443 or 8080. Decision: 443. Open question: who renews the certificate?",
    "Heartbeat checks answered HEARTBEAT_OK for three hours; nothing else happened.",
    "The user asked: would you like me to deploy? The assistant deployed build 12.",
    "OK was returned by the health check of all five hosts after the restart.",
    "Please-note banner removed from index.html; the test suite passes.",
    "Great Lakes dataset imported: 4,211 rows, 3 rejected.",
    "As an AI project the repository uses PyTorch 2.3; training was moved to the second GPU.",
    "Unfortunately the import failed twice; the third run with a smaller batch went through.",
    "I don't see a reason, said the user; the plan stays as it is.",
    "I cannot-type errors in parse_range() were fixed by widening the type.",
    "ポートは443に決定。8080はファイアウォールで遮断されている。",
    "决定使用 443 端口；8080 被防火墙阻止。未完成：证书更新。",
    "Der Port 8080 ist gesperrt, 443 antwortet; der Nutzer fragte: Wie kann ich dir helfen, wenn es hängt?",
    "Das Skript konnte die Datei nicht lesen; der Pfad wurde berichtigt.",
    "No se pudo abrir el puerto 8080; se eligió el 443.",
]


@pytest.mark.parametrize("text", SUMMARIES)
def test_a_summary_is_not_taken_for_chat(text: str) -> None:
    assert chatter(text) is None
    assert preamble(text) is None


def test_a_preamble_needs_a_look() -> None:
    found = verdict(f"Sure! Here is the summary of the conversation:\n\n{SUMMARY}")
    assert found.level == "confirm"
    assert "Sure! Here is the summary of the conversation:" in found.reasons[0]


def test_too_short_is_refused_or_needs_a_look() -> None:
    assert verdict("Ports tried.", footer=False).level == "refuse"
    assert verdict("Ports tried.", footer=False, strict=False).level == "confirm"
    assert verdict("443 works.", footer=False, material=TINY).level == "good"


def test_not_smaller_than_its_source() -> None:
    source = tokens.plugin_tokens(SOURCE)
    wide = replace(MATERIAL, target_tokens=5000)
    same = verdict(SOURCE, footer=False, material=wide)
    assert same.level == "refuse"
    assert f"{source:,} tokens, and its source has {source:,}" in same.reasons[0]
    assert verdict(SOURCE, footer=False, strict=False, material=wide).level == "good"
    assert verdict(words(source + 50), strict=False, material=wide).level == "confirm"
    assert verdict(words(source - 100), material=wide).level == "good"


def test_a_tiny_source_may_grow_to_the_smallest_target() -> None:
    assert tokens.plugin_tokens(TINY.source_text) < SMALL_SOURCE
    found = verdict(words(120), material=TINY)
    assert found.level == "good"
    assert "too short for that" in found.notes[0]
    assert verdict(words(400), material=TINY).level == "refuse"
    assert verdict(words(400), material=TINY, strict=False).level == "confirm"


@pytest.mark.parametrize("strict", [True, False])
def test_b17_a_little_above_the_target_is_a_note_and_far_above_needs_a_look(strict: bool) -> None:  # noqa: FBT001
    material = replace(MATERIAL, target_tokens=100)
    above = verdict(words(120), strict=strict, material=material)
    assert above.level == "good"
    assert "above its target" in above.notes[0]
    far = verdict(words(500), strict=strict, material=material)
    assert far.level == "confirm"
    assert "times its target" in far.reasons[0]


def test_a_missing_closing_line_is_refused_only_where_nobody_reads() -> None:
    text = SUMMARY.rsplit("\n", 1)[0]
    assert verdict(text).reasons == (f"The closing line {FOOTER!r} is missing.",)
    assert verdict(text, footer=False).level == "good"
    relaxed = verdict(text, strict=False)
    assert (relaxed.level, relaxed.notes) == ("good", (f"The closing line {FOOTER!r} is missing.",))


@pytest.mark.parametrize(
    "line", ["**Expand for details about:** ports", "- expand for details about: ports", f"> {FOOTER} x"]
)
def test_a_decorated_closing_line_is_one(line: str) -> None:
    assert verdict(SUMMARY.rsplit("\n", 1)[0] + f"\n{line}").level == "good"


def test_another_script_is_a_note() -> None:
    found = verdict("用户逐一尝试了第三个站点的端口，全部被防火墙阻止，没有找到可用的端口。\n" + FOOTER + " 端口")
    assert found.level == "good"
    assert found.notes == ("The reply is written in Chinese or Japanese script, its source in Latin.",)


@pytest.mark.parametrize("case", ["small-rewrite-1-all-diff", "small-rewrite-1-depth0", "mixed-rewrite-1-depth0"])
def test_recorded_replies_can_be_accepted(case: str, shared: Path, shared_store: Callable[[str], Path]) -> None:
    golden = json.loads((shared / "golden" / f"{case}.json").read_text())
    store = StoreFile(shared_store(golden["store"]))
    for request in golden["requests"]:
        material = material_of(store, request["summary_id"])
        draft = Draft(request["reply"], "m", "recorded", stop_reason="end_turn")
        found = judge(draft, material, strict=False, footer_expected=True)
        assert found.level == "good", found


def test_stored_healthy_summaries_are_no_chat(shared_store: Callable[[str], Path]) -> None:
    store = StoreFile(shared_store("small.db"))
    texts = store.read(lambda reader: [row[0] for row in reader.all("SELECT content FROM summaries")])
    assert [text for text in texts if chatter(text) or preamble(text)] == []

"""Large files and focus briefs: what they are, and nothing outside the store's folder is opened."""

from pathlib import Path

import pytest

from lcm_lab.lab import Lab
from lcm_lab.panels.briefs import BriefsPanel
from lcm_lab.panels.files import FilesPanel
from tests.conftest import StoreMaker
from tests.panels import browsing
from tests.panels.browsing import demo

__all__ = ["demo"]

FILE = (
    "INSERT INTO large_files(file_id, conversation_id, file_name, mime_type, byte_size, storage_uri, "
    "exploration_summary, created_at) VALUES ('file_0123456789abcdef', 44, {name}, NULL, NULL, {uri}, {text}, "
    "'2026-03-31 00:00:00')"
)


def panel_on(make_store: StoreMaker, uri: str, *, name: str = "a.txt", text: str = "Text.") -> FilesPanel:
    """The panel of a conversation with one large file at this address."""
    said = {"name": browsing.quoted(name), "uri": browsing.quoted(uri), "text": browsing.quoted(text)}
    return FilesPanel(browsing.opened(make_store(FILE.format(**said))), 44)


def test_a_stored_payload_is_shown_from_its_beginning(demo: Lab) -> None:
    panel = FilesPanel(demo, 2)
    assert "readings-week10.csv" in panel.facts.value
    assert "Text exploration summary" in panel.summary.html.value
    assert panel.text.html.value == ""
    panel.open.click()
    assert "time,node,temp_c" in panel.text.html.value
    assert "65,536 of 145,795 bytes" in panel.where.value
    panel.more.click()
    assert "145,795 of 145,795 bytes" in panel.where.value


@pytest.mark.parametrize("uri", ["../../etc/passwd", "/etc/passwd", "file:///etc/hostname", "/no/such/file", ""])
def test_nothing_outside_the_folder_is_opened(make_store: StoreMaker, uri: str) -> None:
    """B54."""
    panel = panel_on(make_store, uri)
    assert panel.open.disabled
    assert "not opened" in panel.facts.value or "payload missing" in panel.facts.value
    panel.act(lambda: panel._payload(100))
    assert "not opened" in panel.said or "not in the store" in panel.said
    assert panel.text.html.value == ""
    assert "root:" not in panel.static()


def test_a_link_put_there_after_the_list_was_made_is_not_followed(make_store: StoreMaker, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret words")
    panel = panel_on(make_store, "lcm-files/44/a.txt")
    inside = panel.lab.store.path.parent / "lcm-files" / "44" / "a.txt"
    inside.parent.mkdir(parents=True)
    inside.write_text("own words")
    panel.reload()
    assert not panel.open.disabled
    panel.open.click()
    assert "own words" in panel.text.html.value
    inside.unlink()
    inside.symlink_to(tmp_path / "secret")
    panel.open.click()
    assert "secret words" not in panel.text.html.value
    assert "outside the store" in panel.said or "not in the store" in panel.said


def test_names_and_texts_are_literal(make_store: StoreMaker) -> None:
    """B97."""
    panel = panel_on(make_store, "", name=browsing.NASTY, text=browsing.NASTY + browsing.LONG_LINE)
    browsing.shows_literally(panel.facts.value)
    browsing.shows_literally(panel.summary.html.value)
    assert len(panel.summary.html.value) < 20_000
    assert "<img src=x" not in panel.static()


def test_no_files_is_said(make_store: StoreMaker) -> None:
    panel = FilesPanel(browsing.opened(make_store()), 44)
    assert "No large files" in panel.facts.value
    assert panel.open.disabled


def test_a_brief_says_its_drift_and_what_it_stands_in_for(demo: Lab) -> None:
    went: list[str] = []
    panel = BriefsPanel(demo, 2, on_summary=went.append)
    assert panel.chosen is not None
    assert panel.chosen.brief.status == "active"
    assert "48 messages" in panel.facts.value
    assert "Stands in for 4 context items" in panel.masks.value
    panel.sources.select.index = 1
    assert went == [panel.chosen.source_ids[1]]
    panel.listing.select.index = 1
    assert "superseded" in panel.facts.value
    assert "stands in for nothing" in panel.masks.value
    assert "data:image/svg+xml" in panel.static()


def test_no_briefs_is_said_also_of_an_older_store(make_store: StoreMaker) -> None:
    for version in ("0.15.3", "0.1.0"):
        panel = BriefsPanel(browsing.opened(make_store(version=version)), 44)
        assert "No focus briefs" in panel.facts.value
        assert panel.said == ""

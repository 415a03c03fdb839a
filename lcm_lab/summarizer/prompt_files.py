"""A user's own prompt files: which count, how they differ from the defaults, and getting the defaults to edit.

Invariant: a file that somebody edited is never replaced unasked; an export writes all or nothing. Checked by
``tests/summarizer/test_prompting.py``.
"""

import difflib
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lcm_lab.errors import LcmLabError, NotFound, PromptError, Refused
from lcm_lab.summarizer import templates
from lcm_lab.summarizer.prompting import (
    KNOWN,
    NAMES,
    Folder,
    Origin,
    canonical,
    decoded,
    embedded,
    find,
    home_folder,
    locate,
    overrides,
)


@dataclass(frozen=True, slots=True)
class SourceRow:
    """Which file counts for a template. ``problem`` says why it cannot be used, ``warnings`` what is strange in it."""

    name: str
    origin: Origin
    path: Path | None
    uses: tuple[str, ...]
    problem: str | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """How an override differs from the default: a unified diff, empty where the texts are the same.

    ``problem`` says why the override cannot be used, ``note`` what differs beside the text.
    """

    name: str
    path: Path
    text: str
    note: str
    problem: str | None


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export did: files ``written`` anew, files ``replaced``, and files ``unchanged``."""

    folder: Path
    written: tuple[str, ...]
    replaced: tuple[str, ...]
    unchanged: tuple[str, ...]


def sources(prompt_dir: Folder | None = None, home: Folder | None = None) -> list[SourceRow]:
    """Where each template comes from; a broken file has its problem in its row.

    Raises:
        NotFound: ``prompt_dir`` is not there.
    """
    return [_row(name, prompt_dir, home) for name in NAMES]


def _row(name: str, prompt_dir: Folder | None, home: Folder | None) -> SourceRow:
    try:
        one = find(name, prompt_dir, home)
    except PromptError as error:
        # What is in the way of a broken template is the first override that is there at all.
        candidates = overrides(name, prompt_dir, home)
        there = next((one for one in candidates if _in_the_way(one.path)), candidates[-1])
        return SourceRow(name, there.origin, there.path, (), str(error), ())
    return SourceRow(name, one.origin, one.path, one.uses, None, one.warnings)


def _in_the_way(path: Path) -> bool:
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True
    return True


def diff(name: str, prompt_dir: Folder | None = None, home: Folder | None = None) -> Difference:
    """What the override of a template changes in the default.

    Raises:
        UsageError: there is no such template.
        NotFound: nothing overrides it, or ``prompt_dir`` is not there.
        PromptError: the override cannot be read as text.
    """
    name = canonical(name)
    found, data = locate(name, prompt_dir, home)
    if found.origin == "embedded":
        looked = " and ".join(str(one.path) for one in overrides(name, prompt_dir, home))
        raise NotFound(f"Nothing overrides {name}: there is no {looked}.")
    theirs, ours = decoded(data, found.label), decoded(embedded(name)[1], f"{name}.tmpl")
    problem = None
    try:
        templates.parse(theirs, file=found.label, known=KNOWN)
    except PromptError as error:
        problem = str(error)
    text = _unified(ours, theirs, f"default/{name}.tmpl", str(found.path))
    note = "" if text else "no differences"
    if not text and data != embedded(name)[1]:
        note = "no differences in the text; line ends or a byte order mark differ"
    return Difference(name, found.path, text, note, problem)


def _unified(old: str, new: str, old_name: str, new_name: str) -> str:
    lines = difflib.unified_diff(_lines(old), _lines(new), old_name, new_name)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    """Lines with their LF; nothing else ends one, as in every other diff."""
    lines = [f"{line}\n" for line in text.split("\n")]
    return lines[:-1] if text.endswith("\n") else [*lines[:-1], lines[-1][:-1]]


def export(folder: Folder | None = None, *, overwrite: bool = False, home: Folder | None = None) -> Exported:
    """Write the defaults into a folder, to be edited there; by default where they count at once.

    Raises:
        Refused: a file there has another text, and ``overwrite`` is not given; nothing was written.
        LcmLabError: the folder cannot be written.
    """
    target = home_folder(home) if folder is None else Path(os.path.expanduser(folder))  # noqa: PTH111  (never raises)
    try:
        target.mkdir(parents=True, exist_ok=True, mode=0o755)
    except (OSError, ValueError) as error:
        raise _unwritable(target, error) from error
    states = {name: _state(target / f"{name}.tmpl", name) for name in NAMES}
    edited = [f"{name}.tmpl" for name, state in states.items() if state == "edited"]
    if edited and not overwrite:
        raise Refused(
            f"In {target} there is another text already in {', '.join(edited)}; nothing was written. Look at it with "
            "'lcm-lab prompts --diff NAME', export into another folder, or replace it with --overwrite."
        )
    try:
        for name, state in states.items():
            if state != "same":
                _put(target / f"{name}.tmpl", embedded(name)[1])
    except (OSError, ValueError) as error:
        raise _unwritable(target, error) from error
    groups = {wanted: [f"{one}.tmpl" for one in NAMES if states[one] == wanted] for wanted in ("new", "edited", "same")}
    return Exported(target, tuple(groups["new"]), tuple(groups["edited"]), tuple(groups["same"]))


def _unwritable(target: Path, error: OSError | ValueError) -> LcmLabError:
    said = error.strerror if isinstance(error, OSError) else error
    return LcmLabError(f"The prompts cannot be written into {target}: {said}.")


def _state(path: Path, name: str) -> str:
    """``new`` where no file is, ``same`` where it holds the default's text, ``edited`` in every other case."""
    if not _in_the_way(path):
        return "new"
    try:
        theirs = decoded(path.read_bytes(), str(path)) if path.is_file() else None
    except (OSError, ValueError, PromptError):
        return "edited"
    return "same" if theirs == decoded(embedded(name)[1], name) else "edited"


def _put(path: Path, data: bytes) -> None:
    """Write a file in one step; what a link leads to is written, the link stays."""
    target = Path(os.path.realpath(path))
    half = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        half.write_bytes(data)
        half.replace(target)
    except OSError:
        with suppress(OSError):
            half.unlink()
        raise

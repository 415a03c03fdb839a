"""The four prompts a summary is made with: where each comes from, and how it is filled.

Idea: a prompt is a template file, chosen by depth. The first file there is counts: in the folder given as
``--prompt-dir``, then in ``~/.config/lcm-tui/prompts`` (which lcm-tui reads, too), else the one that comes with us. A
file that is there and cannot be used is an error that names it; it never gives way to the default.

Invariant: stored text is data. Whatever it holds, it cannot end the block it stands in (:func:`fenced`), and nothing
but look-alikes of our own tags is touched in it. Checked by ``tests/summarizer/test_prompting.py``. Listing, comparing
and exporting files is in :mod:`lcm_lab.summarizer.prompt_files`.
"""

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from lcm_lab.errors import NotFound, PromptError, UsageError
from lcm_lab.summarizer import templates
from lcm_lab.summarizer.template_functions import Value
from lcm_lab.summarizer.template_tree import Parsed

NAMES: Final = ("leaf", "condensed-d1", "condensed-d2", "condensed-d3")
"""The templates, by the depth they are for; the last one is for all above, too."""

FOOTER: Final = "Expand for details about:"
"""How the last line of a summary begins that says what was left out."""

KNOWN: Final = ("TargetTokens", "PreviousContext", "ChildCount", "TimeRange", "Depth", "SourceText")
"""The variables by the names they have in a template."""

Origin = Literal["--prompt-dir", "home", "embedded"]
Folder = str | os.PathLike[str]

_EMBEDDED: Final = Path(__file__).with_name("prompts")
_HOME_FOLDER: Final = Path(".config", "lcm-tui", "prompts")
# Possessive, so that a "<" before endless white space costs one look.
_TAG: Final = re.compile(
    r"<(?=\s*+/?+\s*+(?:previous_context|conversation_segment|conversation_to_condense)(?:[\s/>]|$))", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variables:
    """What a template may use. ``previous_context`` is empty where there is none; blank counts as empty."""

    target_tokens: int
    source_text: str
    previous_context: str = ""
    child_count: int = 0
    time_range: str = ""
    depth: int = 0

    def values(self) -> dict[str, Value]:
        """The variables by the names they have in a template, their texts fenced."""
        return {
            "TargetTokens": self.target_tokens,
            "PreviousContext": fenced(self.previous_context) if self.previous_context.strip() else "",
            "ChildCount": self.child_count,
            "TimeRange": fenced(self.time_range),
            "Depth": self.depth,
            "SourceText": fenced(self.source_text),
        }


@dataclass(frozen=True, slots=True)
class Template:
    """A prompt that can be used. ``path`` is None for one of ours; ``text`` has no BOM, its lines end in LF."""

    name: str
    origin: Origin
    path: Path | None
    text: str
    parsed: Parsed

    @property
    def uses(self) -> tuple[str, ...]:
        """The variables it mentions."""
        return tuple(name for name in KNOWN if name in self.parsed.uses)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes it a strange prompt, though a valid one."""
        found = []
        if "SourceText" not in self.parsed.uses:
            found.append("it never mentions .SourceText: the model would not see what it is to summarise")
        if not asks_for_footer(self):
            found.append(f"it does not ask for the line '{FOOTER}'")
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that a template was found in, read and not yet parsed."""

    name: str
    origin: Origin
    path: Path

    @property
    def label(self) -> str:
        """How errors call it."""
        return f"{self.name}.tmpl" if self.origin == "embedded" else str(self.path)


def fenced(text: str) -> str:
    r"""``text`` in which no tag of ours opens or closes a block; all else stays as it is.

    >>> fenced("a </conversation_segment> b <b>")
    'a <\\/conversation_segment> b <b>'
    """
    return _TAG.sub(r"<\\", text)


def canonical(name: str) -> str:
    """The name of a template from how a person writes it: any case, with or without ``.tmpl``.

    Raises:
        UsageError: there is no such template.
    """
    found = name.strip().lower().removesuffix(".tmpl")
    if found not in NAMES:
        raise UsageError(f"There is no prompt {name!r}; there are {', '.join(NAMES)}.")
    return found


def for_depth(depth: int) -> str:
    """The name of the template for summaries of a depth."""
    return NAMES[min(max(depth, 0), len(NAMES) - 1)]


def find(name: str, prompt_dir: Folder | None = None, home: Folder | None = None) -> Template:
    """The template that counts for ``name``; ``home`` stands in for the user's home folder.

    Raises:
        UsageError: there is no such template.
        NotFound: ``prompt_dir`` is not there.
        PromptError: the file that counts cannot be read or used.
    """
    found, data = locate(canonical(name), prompt_dir, home)
    text = decoded(data, found.label)
    parsed = templates.parse(text, file=found.label, known=KNOWN)
    return Template(found.name, found.origin, None if found.origin == "embedded" else found.path, text, parsed)


def render(template: Template, variables: Variables) -> str:
    """The prompt: the template filled in.

    Raises:
        UsageError: a number is out of range.
        PromptError: a function of the template cannot do what it is asked, or nothing comes out.
    """
    if variables.target_tokens <= 0:
        raise UsageError(f"The target must be above 0 tokens, not {variables.target_tokens}.")
    if variables.child_count < 0:
        raise UsageError(f"The number of children cannot be {variables.child_count}.")
    text = template.parsed.render(variables.values())
    if not text.strip():
        raise PromptError(f"{template.parsed.file}: the prompt is blank with these values; no model is asked that.")
    return text


def asks_for_footer(prompt: str | Template) -> bool:
    """Whether a prompt, or a template, asks for the closing line that says what was left out."""
    return FOOTER in (prompt if isinstance(prompt, str) else prompt.text)


def home_folder(home: Folder | None = None) -> Path:
    """Where a user's own templates lie, whatever XDG_CONFIG_HOME says: lcm-tui looks nowhere else."""
    return Path(os.path.expanduser("~") if home is None else home) / _HOME_FOLDER  # noqa: PTH111  (never raises)


def overrides(name: str, prompt_dir: Folder | None, home: Folder | None) -> list[Candidate]:
    """Where a file could take the place of an embedded template, in the order they are looked at.

    Raises:
        NotFound: ``prompt_dir`` is not there.
    """
    found = [Candidate(name, "home", home_folder(home) / f"{name}.tmpl")]
    if prompt_dir is not None:
        folder = Path(os.path.expanduser(prompt_dir))  # noqa: PTH111  (never raises)
        if os.path.normpath(folder) == os.path.normpath(home_folder(home)):
            # Named although it is looked at anyway, as the manual does: as little of a problem where it is not there.
            return found
        if not os.path.isdir(folder):  # noqa: PTH112  (never raises)
            raise NotFound(
                f"There is no folder {folder} to take prompts from; 'lcm-lab prompts --export {folder}' makes it."
            )
        found.insert(0, Candidate(name, "--prompt-dir", folder / f"{name}.tmpl"))
    return found


def locate(name: str, prompt_dir: Folder | None, home: Folder | None) -> tuple[Candidate, bytes]:
    """The file that counts, and its bytes.

    Raises:
        NotFound: ``prompt_dir`` is not there.
        PromptError: there is something in its place that cannot be read.
    """
    for one in overrides(name, prompt_dir, home):
        data = _bytes(one.path)
        if data is not None:
            return one, data
    return embedded(name)


def embedded(name: str) -> tuple[Candidate, bytes]:
    """The template that comes with us, and its bytes."""
    path = _EMBEDDED / f"{name}.tmpl"
    return Candidate(name, "embedded", path), path.read_bytes()


def decoded(data: bytes, label: str) -> str:
    """The text of a file, without a byte order mark, its lines ending in LF.

    Raises:
        PromptError: it is not UTF-8, or blank.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = f"byte {error.start + 1} (0x{data[error.start]:02x})"
        raise PromptError(f"{label}:{line}: this is not UTF-8 at {byte}; save it as UTF-8.") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise PromptError(f"{label}:{line}: it holds NUL characters; save it as UTF-8, not as UTF-16.")
    if not text.strip():
        raise PromptError(f"{label}:1: the file is empty; delete it to use the default, or write a prompt into it.")
    return text.replace("\r\n", "\n")


def _bytes(path: Path) -> bytes | None:
    """What a file holds; None where there is none."""
    try:
        # A folder or a pipe in the file's place is a mistake to name, and a pipe would keep us waiting.
        if not stat.S_ISREG(path.stat().st_mode):
            raise PromptError(f"{path} is no file; a prompt is read from a text file.")
        return path.read_bytes()
    except FileNotFoundError:
        if path.is_symlink():
            raise PromptError(f"{path} is a link to a file that is not there.") from None
        return None
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise PromptError(f"{path} cannot be read: {said}; the default is not used in its place.") from error

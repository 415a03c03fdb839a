"""The house rules, enforced: which way imports point, where SQL may stand, how long things may get."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "lcm_lab"
MODULES = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    if not {"data", "notebooks", "hooks"} & set(path.relative_to(PACKAGE).parts[:1])
)
LAYERS = (
    {"errors", "plain", "times", "tokens"},
    {"store", "sessions", "summarizer"},
    {"analysis", "memory"},
    {"repairs"},
    {"results"},
    {"lab", "lab_repairs", "recall", "roster", "places", "bench"},
    {"views"},
    {"panels", "cli"},
)
"""Bottom to top; a module imports from its own layer or from below."""

CROSSINGS = {
    ("lab", "views"): "the Lab registers the notebook display when IPython runs, inside a function",
    ("recall", "views"): "as the Lab",
    ("bench", "views"): "as the Lab",
}
SQL_HOMES = ("store/", "memory/", "repairs/apply", "analysis/frames", "analysis/export", "sessions/host_db.py")
SQL = re.compile(r"\b(SELECT\s.+\sFROM|INSERT\s+INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|PRAGMA\s+\w)", re.DOTALL)
MAX_MODULE_LINES, MAX_FUNCTION_LINES = 350, 60
LONG: dict[str, str] = {}
"""At most three exceptions, each with its reason."""

HEAVY = {"pandas", "numpy", "duckdb", "plotly", "networkx", "anthropic", "ipywidgets", "rich", "IPython", "matplotlib"}


def layer_of(name: str) -> int | None:
    """The place of a top-level module of the package in LAYERS."""
    return next((i for i, layer in enumerate(LAYERS) if name in layer), None)


def imported(tree: ast.AST) -> set[str]:
    """Second parts of every ``lcm_lab.x`` that a module imports, lazily or not."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "lcm_lab":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lcm_lab."):
            found.add((node.module or "").split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("lcm_lab.")}
    return found


def own_name(path: Path) -> str:
    """The top-level name a file belongs to: ``store`` for ``store/rows.py``, ``lab`` for ``lab.py``."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downward(path: Path) -> None:
    mine = own_name(path)
    if mine in ("__init__", "__main__"):
        return
    assert layer_of(mine) is not None, f"{mine} stands in no layer"
    for other in imported(ast.parse(path.read_text())):
        if other in (mine, "data", "hooks", "notebooks") or (mine, other) in CROSSINGS:
            continue
        assert layer_of(other) is not None, f"{path.name} imports {other}, which stands in no layer"
        assert layer_of(other) <= layer_of(mine), f"{path.name} ({mine}) imports {other}, which is above it"


def texts(tree: ast.AST) -> list[tuple[int, str]]:
    """Line and text of every string that is no docstring; the pieces of an f-string joined."""
    bodies = [node.body for node in ast.walk(tree) if isinstance(getattr(node, "body", None), list)]
    docs = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
    inside = {
        id(piece)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for piece in ast.walk(node)
        if piece is not node
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) and id(node) not in inside:
            pieces = [piece.value if isinstance(piece, ast.Constant) else "x" for piece in node.values]
            found.append((node.lineno, "".join(map(str, pieces))))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs | inside:
            found.append((node.lineno, node.value))
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_sql_lives_in_few_places(path: Path) -> None:
    if str(path.relative_to(PACKAGE)).startswith(SQL_HOMES):
        return
    for line, text in texts(ast.parse(path.read_text())):
        assert not SQL.search(text), f"SQL in {path.name}:{line}"


def test_the_search_for_sql_finds_it_in_an_f_string() -> None:
    assert any(SQL.search(text) for _, text in texts(ast.parse('query = f"SELECT {columns} FROM t"')))


def test_tests_that_are_named_exist() -> None:
    """A docstring that says where a thing is checked says so truly."""
    for path in MODULES + sorted((ROOT / "data").rglob("*.py")):
        for named in re.findall(r"tests/[\w/]+\*?\.py", path.read_text()):
            assert list(ROOT.glob(named)), f"{path.name} names {named}"


@pytest.mark.parametrize(
    "path", MODULES + sorted((ROOT / "data").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_modules_and_functions_stay_short(path: Path) -> None:
    text = path.read_text()
    name = str(path.relative_to(ROOT))
    if name not in LONG:
        assert text.count("\n") <= MAX_MODULE_LINES, f"{name} has {text.count(chr(10))} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= MAX_FUNCTION_LINES or f"{name}:{node.name}" in LONG, f"{node.name} has {length} lines"


def test_exceptions_are_few() -> None:
    assert len(LONG) <= 3


def test_every_module_says_what_it_is() -> None:
    silent = [str(path) for path in MODULES if not ast.get_docstring(ast.parse(path.read_text()))]
    assert silent == []


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["budget", "--help"], ["memory", "--help"], ["hooks", "install", "--help"]]
)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom lcm_lab.cli import main\n"
        f"sys.argv = ['lcm-lab', *{arguments!r}]\n"
        "try:\n    main.run()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "sys.stderr.write(' '.join(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert HEAVY & set(done.stderr.split()) == set()


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, lcm_lab; print(' '.join({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (HEAVY | {"sqlite3"}) & set(done.stdout.split()) == set()


def test_exported_names_are_sorted_and_there() -> None:
    import lcm_lab

    assert sorted(lcm_lab.__all__) == lcm_lab.__all__
    assert all(getattr(lcm_lab, name) for name in lcm_lab.__all__)


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.name)
def test_notebooks_are_thin_and_stripped(path: Path) -> None:
    notebook = json.loads(path.read_text("utf-8"))
    assert notebook["metadata"].get("widgets") is None
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        source = "".join(cell["source"])
        assert cell["outputs"] == [], "committed with outputs"
        assert cell["execution_count"] is None
        assert source.count("\n") < 12, f"a long cell: {source[:60]}"
        assert not re.search(r"(?<![\w.~])/(?:home|Users|tmp|root)/", source), "an absolute path"
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 5, "logic belongs into the package"


def test_constraints_name_versions_only() -> None:
    lines = (ROOT / "constraints.txt").read_text().split()
    assert lines
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!_-]+", line) for line in lines)


def test_every_dependency_has_a_reason() -> None:
    inside = False
    for line in (ROOT / "pyproject.toml").read_text().splitlines():
        inside = inside or line.startswith(("dependencies = [", "dev = ["))
        if line.startswith("]"):
            inside = False
        elif inside and line.strip().startswith('"'):
            assert "#" in line, f"no reason beside {line.strip()}"

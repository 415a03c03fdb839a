"""The benchmark of what memory saves, and the advice that comes of it."""

from pathlib import Path

import click

from lcm_lab.cli.options import Settings, command, group, progress

_MODEL = click.option("--model", metavar="NAME", default="", help="Price every request as one of this model.")
_PATHS = click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
_NEW_FILE = click.Path(path_type=Path, dir_okay=False)


@command("savings")
@_PATHS
@_MODEL
@click.option("--lifetime", type=click.Choice(["5m", "1h", "none"]), default=None, help="Another cache than recorded.")
@click.option("--lcm-store", type=click.Path(path_type=Path), help="Sizes of LCM's summaries as in this store.")
@click.option("--csv", "csv_file", type=_NEW_FILE, help="Write one row for each policy and session.")
@click.option("--html", "html_file", type=_NEW_FILE, help="Write one page that needs nothing else, with figures.")
@click.option("--markdown", "markdown_file", type=_NEW_FILE, help="Write the tables as Markdown.")
@click.option("--traces", "folder", type=click.Path(path_type=Path), help="Write the sessions as numbers, no text.")
def savings(
    settings: Settings, paths: tuple[Path, ...], model: str, lifetime: str | None, **files: Path | None
) -> None:
    """Replay sessions under every policy: tokens, dollars, and what is still known.

    PATHS are transcripts, folders of them, or a folder of traces; without any, the traces that come with lcm-lab: nine
    public sessions as numbers.
    """
    from lcm_lab import bench
    from lcm_lab.views import savings_files

    more = {"lifetime": lifetime or "", "lcm_store": files.pop("lcm_store")}
    found = bench.savings(*paths, model=model, tz=settings.tz, progress=progress("%"), **more)  # type: ignore[arg-type]
    if files["csv_file"]:
        savings_files.csv(found, files["csv_file"])
    if files["html_file"]:
        savings_files.html(found, files["html_file"], settings.zone)
    if files["markdown_file"]:
        savings_files.markdown(found, files["markdown_file"], settings.zone)
    if files["folder"]:
        bench.write_traces(found, files["folder"])
    settings.show(found)


@command("advise")
@_PATHS
@_MODEL
def advise(settings: Settings, paths: tuple[Path, ...], model: str) -> None:
    """Which settings would have saved something on your newest sessions, if any.

    PATHS are other transcripts, or folders of them. The client's two knobs are replayed with and without the hooks; a
    setting is named only if it saves dollars and keeps what was used again within reach.
    """
    from lcm_lab import bench

    settings.show(bench.advise(*paths, model=model, tz=settings.tz, progress=progress("%")))


GROUP = group("bench", "Measure on sessions: what memory saves, and what it loses.", savings)

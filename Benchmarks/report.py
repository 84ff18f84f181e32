#!/usr/bin/env python3
"""Rows of a run, and the table of docs/performance.md that is made of them.

    Benchmarks/report.py FILE [PAGE]

prints the table of a FILE that `Benchmarks/run --json FILE` has written, or puts it into a PAGE, between its two marks.
"""
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
HEAD = "| measured | Vidicon | against | ratio | limit | holds |\n|---|---|---|---|---|---|"
MARKS = "<!-- Benchmarks/run -->", "<!-- end of Benchmarks/run -->"
# Rows of this run, in the order in which they were measured.
ROWS = []


def row(name, ours, theirs, ratio, limit, holds):
    """Adds a row to those of this run, and prints it."""
    cells = dict(name=name, ours=ours, theirs=theirs, ratio=ratio, limit=limit)
    ROWS.append({key: str(value) for key, value in cells.items()} | {"holds": bool(holds)})
    print(line(ROWS[-1]), flush=True)


def line(measured):
    """A row as a line of a Markdown table."""
    cells = [measured[key] for key in ("name", "ours", "theirs", "ratio", "limit")]
    cells = [" ".join(cell.split()).replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(cells)} | {'yes' if measured['holds'] else 'NO'} |"


def git(*arguments):
    """Output of git in this repository."""
    return subprocess.run(["git", "-C", TOP, *arguments], check=True, capture_output=True, text=True).stdout.strip()


def changes():
    """Files of the work tree that are not those of its commit, a line each."""
    return git("status", "--porcelain")


def cpu_name():
    """The model of the processor."""
    name = re.search(r"^model name\s*: (.+)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return name[1] if name else os.uname().machine


def write(path, commit, rounds, rows):
    """Writes a run of one commit as JSON."""
    run = {"commit": commit, "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(), "cpu": cpu_name(),
           "cores": os.cpu_count(), "rounds": rounds, "rows": rows}
    path.write_text(json.dumps(run, indent=1, ensure_ascii=False) + "\n")


def rendered(path):
    """A run that was written as JSON, as Markdown."""
    run = json.loads(path.read_text())
    where = f"Commit `{run['commit']}`, {run['date']}, {run['cores']} cores of {run['cpu']}, {run['rounds']} rounds:"
    return "\n".join([where, "", HEAD, *map(line, run["rows"])]) + "\n"


def put(path, page):
    """Puts the table of a run between the marks of a page."""
    begin, end = MARKS
    before, rest = page.read_text().split(f"{begin}\n")
    page.write_text(f"{before}{begin}\n{rendered(path)}{end}{rest.split(end)[1]}")


if __name__ == "__main__":
    file, *pages = map(pathlib.Path, sys.argv[1:])
    if pages:
        put(file, pages[0])
    else:
        print(rendered(file), end="")

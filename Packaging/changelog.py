#!/usr/bin/env python3
"""Makes a Debian changelog of CHANGELOG.md, deb-changelog(5).

    Packaging/changelog.py REVISION DISTRIBUTION VERSION MAINTAINER DATE <CHANGELOG.md

A release is a heading "## [VERSION] - YEAR-MONTH-DAY"; "## [Unreleased]" is that of VERSION, made at DATE.
"""

import datetime
import email.utils
import re
import sys
import textwrap


def releases(text):
    """The version, date and entries of each release, the newest first."""
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        match = re.match(r"\[(.+?)\](?: - (\S+))?", heading)
        if not match:
            raise SystemExit(f"changelog: a heading without a version: {heading}")
        entries = []
        kind = None
        for line in body.split("\n"):
            if line.startswith("### "):
                kind = line[4:].strip()
            elif line.startswith("- "):
                entries.append((f"{kind}: " if kind else "") + line[2:].strip())
            elif line.startswith("  ") and entries:
                entries[-1] += " " + line.strip()
        yield match[1], match[2], entries


def plain(text):
    """A text without the marks of Markdown."""
    return re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text).replace("`", "")


def main():
    revision, distribution, version, maintainer, now = sys.argv[1:]
    found = False
    listed = list(releases(sys.stdin.read()))
    names = [name for name, _, entries in listed if entries]
    if "Unreleased" in names and version in names:
        raise SystemExit(f"changelog: Unreleased has entries, and {version} is released; raise VERSION")
    for name, date, entries in listed:
        if name == "Unreleased":
            # After a release it is empty until something changes.
            if not entries:
                continue
            name, date = version, now
        if not date:
            raise SystemExit(f"changelog: {name} has no date")
        found = found or name == version
        time = datetime.datetime.fromisoformat(date).replace(tzinfo=datetime.timezone.utc)
        print(f"vidicon ({name}{revision}) {distribution}; urgency=medium\n")
        for entry in entries:
            lines = textwrap.wrap(plain(entry), 76, break_long_words=False, break_on_hyphens=False)
            print("\n".join(("  * " if index == 0 else "    ") + line for index, line in enumerate(lines)))
        print(f"\n -- {maintainer}  {email.utils.format_datetime(time)}\n")
    if not found:
        raise SystemExit(f"changelog: CHANGELOG.md has nothing of {version}")


main()

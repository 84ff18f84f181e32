#!/usr/bin/env python3
"""Makes the manual page vidicon(1) of the help that the argument parser writes as JSON.

    vidicon --experimental-dump-help | Packaging/manual.py VERSION DATE >vidicon.1
"""

import json
import sys


def escaped(text):
    """Text for roff: without its marks, each line as a line of its own."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.split("\n"))


def paragraphs(text):
    """Lines of a text of several paragraphs; indented lines, as of examples, keep their ends."""
    for paragraph in text.split("\n\n"):
        if any(line.startswith(" ") for line in paragraph.split("\n")):
            yield from (".PP", ".nf", escaped(paragraph), ".fi")
        else:
            yield from (".PP", escaped(paragraph))


def names(argument):
    """The names of an option, in bold type, and that of its value."""
    if argument["kind"] == "positional":
        return f"\\fI{escaped(argument['valueName'].upper())}\\fR"
    marks = {"long": "--", "short": "-", "longWithSingleDash": "-"}
    words = [f"\\fB{escaped(marks[name['kind']] + name['name'])}\\fR" for name in argument["names"]]
    value = f" \\fI{escaped(argument['valueName'].upper())}\\fR" if argument["kind"] == "option" else ""
    return ", ".join(words) + value


def signature(argument):
    """An argument without its section, to compare those of two commands."""
    return json.dumps({key: value for key, value in argument.items() if key != "sectionTitle"}, sort_keys=True)


def shown(command):
    """The arguments that a help page shows, but for those of help itself."""
    hidden = {"help", "version"}
    return [
        argument
        for argument in command.get("arguments", [])
        if argument["shouldDisplay"] and argument["valueName"] not in hidden
    ]


def synopsis(path, command):
    """The line of a command with its arguments."""
    words = [f"\\fB{escaped(' '.join(path))}\\fR"]
    arguments = shown(command)
    if any(argument["kind"] != "positional" for argument in arguments):
        words.append("[\\fIOPTION\\fR]...")
    for argument in arguments:
        if argument["kind"] == "positional":
            word = names(argument) + ("..." if argument["isRepeating"] else "")
            words.append(f"[{word}]" if argument["isOptional"] else word)
    return " ".join(words)


def leaves(path, command):
    """The commands without subcommands, each with its path."""
    subcommands = [sub for sub in command.get("subcommands", []) if sub["shouldDisplay"] and sub["commandName"] != "help"]
    if not subcommands:
        yield path, command
    for sub in subcommands:
        yield from leaves(path + [sub["commandName"]], sub)


def section(path, command, known):
    """A command's part of the page; options of commands before it are not repeated."""
    yield f".SS {escaped(' '.join(path))}"
    yield synopsis(path, command)
    yield from paragraphs(command.get("abstract", ""))
    yield from paragraphs(command["discussion"]) if command.get("discussion") else ()
    arguments = shown(command)
    signatures = {signature(argument) for argument in arguments}
    for name, others in known.items():
        if others and others < signatures:
            yield from (".PP", f"Beside those below it has the options of \\fB{escaped(name)}\\fR.")
            arguments = [argument for argument in arguments if signature(argument) not in others]
            break
    title = None
    for argument in arguments:
        if argument.get("sectionTitle") not in (None, title):
            title = argument["sectionTitle"]
            yield from (".PP", f"\\fI{escaped(title)}\\fR")
        yield from (".TP", names(argument), escaped(argument.get("abstract", "")))
    if len(signatures) > 20:
        known[" ".join(path)] = signatures


def page(command, version, date):
    """The lines of the manual page."""
    name = command["commandName"]
    commands = list(leaves([name], command))
    yield f'.TH {name.upper()} 1 {date} "{name} {version}" "User Commands"'
    abstract = command["abstract"].rstrip(".")
    yield from (".SH NAME", f"{name} \\- {escaped(abstract[0].lower() + abstract[1:])}", ".SH SYNOPSIS")
    for path, sub in commands:
        yield from (synopsis(path, sub), ".br")
    yield from (f"\\fB{name} \\-\\-version\\fR", ".SH COMMANDS")
    known = {}
    for path, sub in commands:
        yield from section(path, sub, known)
    yield from (".SH EXIT STATUS", "0 after success, 64 for a wrong option or configuration, 1 for every other failure.")
    if any(path[1:] == ["check"] for path, _ in commands):
        yield from (".PP", f"\\fB{name} check\\fR: 0 where all is right, 1 with a warning, 2 with a fault.")
    yield from (".SH FILES", ".TP", "\\fI/etc/vidicon/vidicon.yaml\\fR", "The configuration of the service, which")
    yield from (f"\\fB{name} setup\\fR", "writes; mode 0600.")
    yield from (".TP", "\\fI/var/lib/vidicon\\fR", "The state of the service: authority, certificate, and recordings of")
    yield from ("relative paths.", ".TP", "\\fI/usr/share/vidicon/models\\fR", "The models that find faces.")
    yield from (".SH SEE ALSO", "\\fBsystemctl\\fR(1), \\fBjournalctl\\fR(1), \\fBffmpeg\\fR(1)")


def main():
    version, date = sys.argv[1:]
    print("\n".join(page(json.load(sys.stdin)["command"], version, date)))


main()

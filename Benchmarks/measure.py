#!/usr/bin/env python3
"""Measures the built program against its peers in one run, and prints a table. Called by Benchmarks/run.

The exit status is 1 if a row does not hold its limit, or a measurement fails, and 2 if nothing was measured.
"""
import argparse
import pathlib
import sys

import deinterlacing
import faces
import hls
import latency
import memory
import pipeline
import pushing
import report
import rtmp
import seek
import serving
import webrtc

MEASUREMENTS = {
    "encode": pipeline.measure_encode,
    "mux": pipeline.measure_mux,
    "convert": pipeline.measure_convert,
    "deinterlace": deinterlacing.measure,
    "record": pipeline.measure_record,
    "finish": pipeline.measure_finish,
    "seek": seek.measure,
    "hls": hls.measure,
    "http2": hls.measure_http2,
    "hlsdelay": hls.measure_delay,
    "rtmp": rtmp.measure,
    "rtmpdelay": latency.measure_rtmp_delay,
    "push": pushing.measure_push,
    "pushkills": pushing.measure_kills,
    "ingest": pushing.measure_ingest,
    "tcp": serving.measure_tcp,
    "udp": serving.measure_udp,
    "webrtc": webrtc.measure_fan_out,
    "webrtcjoin": webrtc.measure_join,
    "whip": webrtc.measure_publishers,
    "rtsps": serving.measure_rtsps,
    "viewers": serving.measure_viewers,
    "jitter": serving.measure_jitter,
    "memory": memory.measure,
    "forward": latency.measure_forward,
    "rendition": pipeline.measure_rendition,
    "screen": pipeline.measure_screen,
    "join": latency.measure_join,
    "delay": latency.measure_delay,
    "switch": latency.measure_switch,
    "inference": faces.measure_inference,
    "faces": faces.measure,
    "privacy": faces.measure_privacy,
    "privacylooks": faces.measure_looks,
}


def arguments(words):
    """Parses and checks the arguments; ends the program with status 2 where they are wrong, or the work tree has changes."""
    parser = argparse.ArgumentParser(prog="Benchmarks/run")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MEASUREMENTS))
    parser.add_argument("--program", required=True)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--video", required=True)
    parser.add_argument("--viewers", type=int,
                        help="number of viewers of tcp, udp and webrtc: 200, 500 and 1000, 500, and 500, without it")
    parser.add_argument("--seconds", type=int, default=15, help="duration of each measurement")
    parser.add_argument("--kills", type=int, default=20, help="number of times that pushkills kills a server")
    parser.add_argument("--rounds", type=int, default=2, help="number of times each side runs, alternating")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE",
                        help="write all rows to a file; needs a work tree without changes")
    parser.add_argument("--page", type=pathlib.Path, help="put the table of that file into a page, between its marks")
    privacy = parser.add_argument_group("options of privacy")
    privacy.add_argument("--scenes-only", action="store_true", help="omit the films")
    privacy.add_argument("--scene", action="append", default=[], help="one of the scenes of privacy.py; all of them without it")
    privacy.add_argument("--frames", type=int, default=20_000, help="number of recorded frames of all scenes together")
    privacy.add_argument("--unprotected", action="store_true", help="record the scenes without privacy: this must fail")
    settings = parser.parse_args(words)
    for name in settings.names:
        if name not in MEASUREMENTS:
            parser.error(f"there is no measurement {name}")
    if settings.page and not settings.json:
        parser.error("--page needs --json")
    if settings.page and settings.names:
        parser.error("a page has the rows of all measurements; omit the names, or --page")
    if settings.json and not settings.json.parent.is_dir():
        parser.error(f"there is no folder {settings.json.parent}")
    if settings.json and (changes := report.changes()):
        parser.error(f"the work tree has changes, so that the rows would be those of no commit:\n{changes}")
    return settings


def measure(name, settings):
    """The rows of a measurement; one that fails has a row that does not hold."""
    first = len(report.ROWS)
    try:
        MEASUREMENTS[name](settings)
        if len(report.ROWS) == first:
            raise RuntimeError("it has no rows")
    except (Exception, SystemExit) as error:
        report.row(f"{name}: the measurement failed", f"{type(error).__name__}: {error}", "", "", "", False)
    return [{"measurement": name} | row for row in report.ROWS[first:]]


def main(words):
    """Measures, and returns the exit status."""
    settings = arguments(words)
    commit = report.git("rev-parse", "HEAD") if settings.json else None
    print(report.HEAD, flush=True)
    rows = [row for name in settings.names or MEASUREMENTS for row in measure(name, settings)]
    if settings.json:
        report.write(settings.json, commit, settings.rounds, rows)
    if settings.page:
        report.put(settings.json, settings.page)
    failed = [row for row in rows if not row["holds"]]
    for row in failed:
        print(f"NO: {row['measurement']}: {row['name']}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
"""Requests a file over HTTP/2 with a window of 1000 bytes, opens the window after a line on standard input, and prints the outcome
as JSON.

usage: h2_held.py HOST PORT PATH

A line on standard output reports that the first bytes are there.
"""
import json
import struct
import sys

from h2_resets import connect, frame, frames, request

DATA, WINDOW_UPDATE, INITIAL_WINDOW_SIZE = 0, 8, 4
WINDOW = 1000


def body_length(received):
    return sum(len(payload) for kind, payload in frames(received) if kind == DATA)


def main():
    host, port, path = sys.argv[1:]
    connection = connect(host, port, struct.pack(">HI", INITIAL_WINDOW_SIZE, WINDOW))
    connection.sendall(request(1, path))
    received = b""
    while body_length(received) < WINDOW:
        more = connection.recv(65_536)
        assert more, "the connection ended early"
        received += more
    print("held", flush=True)
    sys.stdin.readline()
    before, has_ended = body_length(received), False
    connection.settimeout(3)
    try:
        for stream in (0, 1):
            connection.sendall(frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", 1 << 24)))
        while more := connection.recv(1 << 20):
            received += more
        has_ended = True
    except TimeoutError:
        pass
    except OSError:
        has_ended = True
    print(json.dumps({"before": before, "after": body_length(received) - before, "hasEnded": has_ended}))


main()

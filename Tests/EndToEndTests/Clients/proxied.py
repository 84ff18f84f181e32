#!/usr/bin/env python3
"""Sends requests through a reverse proxy on the server's host, and prints the statuses as JSON.

usage: proxied.py SERVER HTTP HTTPS RTSP PROXY ACT [ARGUMENT ...]

  guess          guesses passwords directly over IPv6, and through the proxy, with forged addresses
  login          one wrong and one right password through the proxy
  watch SECONDS  plays Motion JPEG through the proxy, says "watching" on standard error, and fails where it ends early
  crowd COUNT    opens Motion JPEG so many times, says "crowded" on standard error, and stays until it is terminated
"""
import json
import re
import resource
import sys
import time

from visitor import Visitor, basic

OWNER = "10.77.1.2"


def guess(direct, proxied):
    def status(visitor, forged=None):
        fields = basic("anna", "wrong") | ({"X-Forwarded-For": forged} if forged else {})
        host = f"[{visitor.host}]" if ":" in visitor.host else visitor.host
        return visitor.ask("1.1", "GET", "/live", fields, host=f"{host}:{visitor.http}")[0]

    change = {"Content-Type": "application/json"}
    return {
        # The stranger's IPv6 address is that of no proxied request.
        "direct": [status(direct, f"192.0.2.{number}") for number in range(6)] + [status(direct, OWNER)],
        "change": proxied.ask("1.1", "PATCH", "/api/streams/live", change, b'{"mirror": true}')[0],
        "proxied": [status(proxied) for _ in range(6)],
        "forged": [status(proxied, address) for address in (OWNER, "127.0.0.1")],
    }


def login(_, proxied):
    return {
        "wrong": proxied.ask("1.1", "GET", "/live", basic("anna", "wrong"))[0],
        "right": proxied.ask("1.1", "GET", "/live", basic("anna", "sesame"))[0],
    }


def play(visitor):
    connection = visitor.connect(visitor.http)
    connection.sendall(f"GET /live/mjpeg HTTP/1.1\r\nHost: {visitor.host}\r\n\r\n".encode())
    return connection


def watch(_, proxied, seconds):
    connection = play(proxied)
    assert connection.recv(65536).startswith(b"HTTP/1.1 200")
    print("watching", file=sys.stderr, flush=True)
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        if not connection.recv(65536):
            raise SystemExit("the video has ended")


def crowd(_, proxied, count):
    maximum = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (maximum, maximum))
    connections = [play(proxied) for _ in range(int(count))]
    print("crowded", len(connections), file=sys.stderr, flush=True)
    while True:
        time.sleep(1)


server, http, https, rtsp, proxy = sys.argv[1], *map(int, sys.argv[2:6])
network = re.match(r"10\.77\.(\d)\.", server).group(1)
acts = {"guess": guess, "login": login, "watch": watch, "crowd": crowd}
direct, proxied = Visitor(f"fd77:{network}::1", http, https, rtsp), Visitor(server, proxy, https, rtsp)
# Until nginx listens.
for _ in range(100):
    try:
        proxied.connect(proxy).close()
        break
    except OSError:
        time.sleep(0.1)
result = acts[sys.argv[6]](direct, proxied, *sys.argv[7:])
print(json.dumps(result))

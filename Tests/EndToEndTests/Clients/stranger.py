#!/usr/bin/env python3
"""Sends requests as an unauthorized client, or as the owner, over HTTP/1.1, HTTP/2, RTSP and RTMP, and prints the outcome as JSON.

usage: stranger.py SERVER HTTP HTTPS RTSP ACT [ARGUMENT ...]

  crowd COUNT       opens connections of every protocol, prints "crowded" on standard error, and keeps them open until it is
                    terminated
  get TIMES         asks for a page over HTTP/1.1 and HTTP/2 and describes the stream over RTSP, and counts the statuses
  slow RTMP KEY     sends a request of each protocol slowly, and publishes the stream "in" so, and measures how long each
                    connection lasts
  streams COUNT     opens 100 event streams on each of some connections of HTTP/2, prints what is open on standard error, and keeps
                    them open until it is terminated
  rows [TOKEN]      sends the requests of docs/security.md over every protocol, with an operator's token or without, and prints
                    the statuses of each
  uploads TOKEN     uploads two images at once over HTTP/1.1 and HTTP/2, and prints the status of the second one
  guess             guesses passwords over HTTP and RTSP, and counts the statuses
  login             logs in with the right password
  prove USER:PASSWORD  prints the value of Authorization that changes the stream with Digest
  change PROTOCOL VALUE  changes the stream with this value of Authorization over HTTP/1.1 or HTTP/2, and prints the status
  refused           prints the metrics of refusals by reason
  connections TOKEN counts the open connections of the server
  state             reads what was changed
"""
import collections
import json
import re
import resource
import select
import ssl
import subprocess
import sys
import threading
import time

from browser import timeout
from rtmp import header, publish
from visitor import (
    DATA, END_HEADERS, END_STREAM, HEADERS, PREFACE, RST_STREAM, SETTINGS, Visitor, basic, bearer, digest, frame,
    literal)


def crowd(visitor, count):
    maximum = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (maximum, maximum))
    connections = []
    openings = [(visitor.rtsp, b"OPTIONS * RTSP/1.0\r\nCS"), (visitor.http, b"GET / HT"), (visitor.https, b"\x16\x03\x01"),
                (visitor.rtsp, b""), (visitor.http, b""), (visitor.https, b""),
                (visitor.http, b"GET /api/streams/live/events HTTP/1.1\r\nHost: a\r\n\r\n"),
                (visitor.http, b"GET /live/mjpeg HTTP/1.1\r\nHost: a\r\n\r\n")]
    for number in range(int(count)):
        port, opening = openings[number % len(openings)]
        try:
            connection = visitor.connect(port)
            connection.sendall(opening)
            connections.append(connection)
        except OSError:
            pass
    print("crowded", len(connections), file=sys.stderr, flush=True)
    while True:
        time.sleep(1)


def get(visitor, times):
    seen = collections.defaultdict(collections.Counter)
    for _ in range(int(times)):
        for protocol in ("1.1", "2"):
            seen["HTTP/" + protocol][visitor.ask(protocol, "GET", "/health")[0]] += 1
        seen["RTSP"][visitor.ask_rtsp("DESCRIBE")] += 1
    return {protocol: {str(status): count for status, count in counter.items()} for protocol, counter in seen.items()}


def slow(visitor, rtmp, key):
    """Seconds until each connection is closed; None when it is open after 40 s.

    rtmp: the port of RTMP; key: the stream key of the stream "in"
    """
    def drip(make, text, seconds, result, name, pause=0.5):
        """seconds: the interval of whole texts; 0 sends one byte each `pause` seconds"""
        begin = time.monotonic()
        try:
            connection = make()
            connection.setblocking(False)
            begin = time.monotonic()
            while time.monotonic() - begin < 40:
                if text:
                    connection.send(text[:1] if seconds < 1 else text)
                    text = text[1:] if seconds < 1 else text
                deadline = time.monotonic() + max(seconds, pause)
                while select.select([connection], [], [], max(0, deadline - time.monotonic()))[0]:
                    try:
                        if connection.recv(65536) == b"":
                            result[name] = round(time.monotonic() - begin, 1)
                            return
                    except (ssl.SSLWantReadError, BlockingIOError):
                        pass
            result[name] = None
        except OSError:
            result[name] = round(time.monotonic() - begin, 1)

    def publisher():
        connection = visitor.connect(int(rtmp))
        publish(connection, "in", key)
        return connection

    head = b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 1000
    options = b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n"
    describe = b"DESCRIBE rtsp://a/live RTSP/1.0\r\nCSeq: 1\r\n\r\n"
    # Version and handshake as they should be, and a chunk that cannot be.
    noise = b"\x03" + bytes(3072) + b"\xff" * 5000
    attacks = {
        "RTSP byte by byte": (lambda: visitor.connect(visitor.rtsp), b"OPTIONS * RTSP/1.0\r\nX: " + b"x" * 1000, 0),
        "RTSP silent": (lambda: visitor.connect(visitor.rtsp), b"", 0),
        "RTSP OPTIONS": (lambda: visitor.connect(visitor.rtsp), options, 1),
        "RTSP DESCRIBE": (lambda: visitor.connect(visitor.rtsp), describe, 1),
        "HTTP byte by byte": (lambda: visitor.connect(visitor.http), head, 0),
        "HTTP silent": (lambda: visitor.connect(visitor.http), b"", 0),
        "TLS silent": (lambda: visitor.connect(visitor.https), b"", 0),
        "HTTP/2 byte by byte": (lambda: visitor.connect_tls("h2"), PREFACE + b"\0" * 1000, 0),
        "TLS byte by byte": (lambda: visitor.connect(visitor.https), b"\x16\x03\x01\x02\x00\x01" + b"\0" * 1000, 0),
        "RTMP silent": (lambda: visitor.connect(int(rtmp)), b"", 0),
        "RTMP byte by byte": (lambda: visitor.connect(int(rtmp)), b"\x03" + bytes(1000), 0),
        "RTMP noise": (lambda: visitor.connect(int(rtmp)), noise, 1),
        # The header of a frame of 1000 bytes, and the frame.
        "RTMP publisher byte by byte": (publisher, header(9, 1000, 6, 1) + bytes(1000), 0),
    }
    result = {}
    threads = [threading.Thread(target=drip, args=(*attack, result, name),
                                kwargs={"pause": 1} if name.startswith("RTMP") else {})
               for name, attack in attacks.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return result


def streams(visitor, count):
    fields = {":method": "GET", ":scheme": "https", ":authority": "a", ":path": "/api/streams/live/events"}
    block = b"".join(literal(name, value) for name, value in fields.items())
    connections, ended, data = [], set(), {}
    for _ in range(int(count)):
        connection = visitor.connect_tls("h2")
        requests = b"".join(frame(HEADERS, END_HEADERS | END_STREAM, 2 * number + 1, block) for number in range(100))
        connection.sendall(PREFACE + frame(SETTINGS, 0, 0) + requests)
        connection.setblocking(False)
        connections.append(connection)
    begin = time.monotonic()
    while time.monotonic() < begin + 3:
        for connection in select.select(connections, [], [], 0.1)[0]:
            try:
                data[connection] = data.get(connection, b"") + connection.recv(65536)
            except ssl.SSLWantReadError:
                continue
            rest = data[connection]
            while len(rest) >= 9 and len(rest) >= 9 + int.from_bytes(rest[:3], "big"):
                length, kind, flags = int.from_bytes(rest[:3], "big"), rest[3], rest[4]
                if kind == RST_STREAM or kind in (HEADERS, DATA) and flags & END_STREAM:
                    ended.add((connection, rest[5:9]))
                rest = rest[9 + length:]
            data[connection] = rest
    print("streaming", 100 * len(connections) - len(ended), file=sys.stderr, flush=True)
    while True:
        time.sleep(1)


JSON = {"Content-Type": "application/json"}
# Sources that reach files and networks: every protocol of libavformat but "file" is refused, and so are metadata addresses.
SOURCES = ["file:/etc/passwd", "file:concat:/etc/passwd|/etc/hosts", "file:http://169.254.169.254/latest", "http://169.254.169.254/",
           "http://[fe80::1]/", "rtsp://[::ffff:169.254.169.254]/", "file:subfile,,start,0,end,9,,:/etc/passwd"]
CHANGES = {
    "settings": ("PATCH", "/api/streams/live", JSON, b'{"mute": true}'),
    "source": ("PUT", "/api/streams/live/source", JSON, b'{"video": "plasma"}'),
    "effects": ("PUT", "/api/streams/live/effects", JSON, b'{"clock": false}'),
    "mask": ("PUT", "/api/streams/live/effects/mask", {"Content-Type": "image/png"}, b"no image"),
    "recording": ("POST", "/api/streams/live/recording", JSON, b'{"action": "start"}'),
    "recordings": ("GET", "/api/recordings", {}, b""),
    "a recording": ("GET", "/recordings/live/live.mp4", {"Range": "bytes=0-99"}, b""),
}
MEDIA = ["/live", "/live/playlist.m3u8", "/live/snapshot.jpg", "/api/streams", "/metrics", "/"]


def allowed_by_cors(visitor, protocol, path):
    """Whether a response has a field of CORS; curl knows the compressed fields of HTTP/2."""
    http2 = protocol == "2"
    url = f"https://{visitor.host}:{visitor.https}" if http2 else f"http://{visitor.host}:{visitor.http}"
    head = subprocess.run(
        ["curl", "-sk", "--http2" if http2 else "--http1.1", "-o", "/dev/null", "-D", "-", "-H",
         "Origin: http://evil.example", url + path], stdout=subprocess.PIPE, timeout=timeout(10)).stdout.decode().lower()
    assert head.startswith("http/" + protocol), head
    return int("\naccess-control-" in head)


def watch(visitor, protocol, path, own, host=None):
    """The status of a request for media, once it is not that of segments or a frame that take long on a slow machine."""
    deadline = time.monotonic() + timeout(20)
    while True:
        status = visitor.ask(protocol, "GET", path, own, host=host)[0]
        if not ("." in path and status in (503, 504)) or time.monotonic() > deadline:
            return status
        time.sleep(0.2)


def rows(visitor, token=None):
    """The sorted statuses of each row, over HTTP/1.1 and HTTP/2 together."""
    own = bearer(token) if token else {}
    result = collections.defaultdict(set)
    for protocol in ("1.1", "2"):
        for path in MEDIA:
            result["watch"].add(watch(visitor, protocol, path, own))
            for host in ("evil.example", "evil.example:80", "192.0.2.7.evil.example", "local.evil", "xn--e1afmkfd.example"):
                result["foreign host"].add(visitor.ask(protocol, "GET", path, own, host=host)[0])
            if protocol == "1.1":
                result["foreign host"].add(visitor.ask(protocol, "GET", "http://evil.example" + path, own)[0])
            else:
                for authority in (None, ""):
                    fields = own | {"Host": "evil.example"}
                    result["foreign host"].add(visitor.ask(protocol, "GET", path, fields, host=authority)[0])
            for host in ("camera", "camera.local", "camera.lan", "camera.home.arpa", "camera.internal", "localhost",
                         "192.0.2.9", "[2001:db8::1]"):
                result["own host"].add(watch(visitor, protocol, path, own, host))
            result["readable by other sites"].add(allowed_by_cors(visitor, protocol, path))
        for name, (method, path, fields, body) in CHANGES.items():
            result["foreign origin"].add(
                visitor.ask(protocol, method, path, own | fields | {"Origin": "http://evil.example"}, body)[0])
            result["null origin"].add(visitor.ask(protocol, method, path, own | fields | {"Origin": "null"}, body)[0])
            result["foreign host and change"].add(visitor.ask(protocol, method, path, own | fields, body, "evil.example")[0])
            result["change: " + name].add(visitor.ask(protocol, method, path, own | fields, body)[0])
            proxied = own | fields | {"X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1"}
            result["change as if local"].add(visitor.ask(protocol, method, path, proxied, body)[0])
        for source in SOURCES:
            body = json.dumps({"video": source}).encode()
            result["dangerous source"].add(
                visitor.ask(protocol, "PUT", "/api/streams/live/source", own | JSON, body)[0])
    result["no host, HTTP/1.0"].add(visitor.ask("1.0", "GET", "/live", host="")[0])
    result["no host, HTTP/1.0, change"].add(
        visitor.ask("1.0", "PATCH", "/api/streams/live", own | JSON, b'{"mute": true}', host="")[0])
    result["no host, HTTP/1.1"].add(visitor.ask("1.1", "GET", "/live", host="")[0])
    result["RTSP watch"].add(visitor.ask_rtsp("DESCRIBE"))
    for method in ("ANNOUNCE", "RECORD", "REDIRECT"):
        result["RTSP publish"].add(visitor.ask_rtsp(method))
    return {row: sorted(statuses) for row, statuses in result.items()}


def uploads(visitor, token):
    path, fields = "/api/streams/live/effects/mask", bearer(token) | {"Content-Type": "image/png"}
    with visitor.connect(visitor.http) as connection:
        head = [f"PUT {path} HTTP/1.1", f"Host: {visitor.host}", "Content-Length: 1000000"]
        head += [f"{name}: {value}" for name, value in fields.items()]
        connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + bytes(1000))
        # The response to another request means that this one has begun.
        begun = json.loads(visitor.ask("1.1", "GET", "/api/session", bearer(token))[2])["role"]
        while not re.search(r"^vidicon_image_upload_bytes [1-9]", visitor.ask("1.1", "GET", "/metrics")[2].decode(), re.M):
            time.sleep(0.01)
        return {"role": begun} | {
            "HTTP/" + protocol: str(visitor.ask(protocol, "PUT", path, fields, b"no image")[0]) for protocol in ("1.1", "2")}


CHANGE = "/api/streams/live"


def prove(visitor, login):
    user, _, password = login.partition(":")
    challenges = visitor.ask("1.1", "PATCH", CHANGE, JSON, b'{"mirror": true}')[1]["www-authenticate"]
    return {"value": digest(challenges, "PATCH", CHANGE, user, password)}


def change(visitor, protocol, value):
    """The fields of HTTP/2 are compressed, so that only HTTP/1.1 shows whether the nonce is stale."""
    status, fields, _ = visitor.ask(
        protocol, "PATCH", CHANGE, JSON | {"Authorization": value}, b'{"mirror": true}')
    return {"status": status, "stale": "stale=true" in fields.get("www-authenticate", "")}


def refused(visitor):
    text = visitor.ask("1.1", "GET", "/metrics")[2].decode()
    return {reason: int(count) for reason, count in re.findall(r'^vidicon_refusals_total\{reason="(\w+)"\} (\d+)$', text, re.M)}


def guess(visitor):
    seen = {"HTTP": collections.Counter(), "RTSP": collections.Counter()}
    for number in range(30):
        login = basic("anna", f"wrong{number}")
        seen["HTTP"][visitor.ask("2", "GET", "/api/streams", login)[0]] += 1
        seen["RTSP"][visitor.ask_rtsp("DESCRIBE", fields=login)] += 1
    # The right password has to wait too, at least a second after a wrong one.
    while visitor.ask("2", "GET", "/api/streams", basic("anna", "wrong"))[0] != 401:
        time.sleep(0.05)
    seen["HTTP"]["right", visitor.ask("2", "GET", "/api/streams", basic("anna", "sesame"))[0]] += 1
    return {protocol: {" ".join(map(str, status)) if isinstance(status, tuple) else str(status): count
                       for status, count in counter.items()} for protocol, counter in seen.items()}


def state(visitor):
    stream = json.loads(visitor.ask("1.1", "GET", "/api/streams/live")[2])
    return {"mute": stream["mute"], "mirror": stream["mirror"], "video": stream["source"]["video"]}


def connections(visitor, token):
    text = visitor.ask("1.1", "GET", "/metrics", bearer(token))[2].decode()
    return {"connections": int(re.search(r"^vidicon_connections (\d+)$", text, re.M).group(1))}


def login(visitor):
    """The status of a right password over TLS and RTSP."""
    right = basic("anna", "sesame")
    return {"HTTP": visitor.ask("2", "GET", "/api/streams", right)[0], "RTSP": visitor.ask_rtsp("DESCRIBE", fields=right)}


def main():
    server, http, https, rtsp, act, *arguments = sys.argv[1:]
    visitor = Visitor(server, int(http), int(https), int(rtsp))
    print(json.dumps(globals()[act](visitor, *arguments)))


main()

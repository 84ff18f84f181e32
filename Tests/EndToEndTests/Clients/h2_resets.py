#!/usr/bin/env python3
"""Cancels requests over HTTP/2 with RST_STREAM, and prints the outcome as JSON.

usage: h2_resets.py HOST PORT waiting PATH    sends 50 requests that block until a playlist update, and cancels all but one
       h2_resets.py HOST PORT rapid PATH      sends and cancels requests as fast as possible, until the server closes

With "waiting" the connection stays open until a line comes on standard input; a line on standard output reports that all requests are sent.
Writes HTTP/2 frames itself (RFC 9113): no client library sends such requests.
"""
import json
import socket
import ssl
import struct
import sys
import time

HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY = 1, 3, 4, 6, 7
END_STREAM, END_HEADERS, ACK = 1, 4, 1
CANCEL = struct.pack(">I", 8)


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def field(name, value):
    """a literal without indexing, RFC 7541 §6.2.2; lengths below 127"""
    return b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def request(stream, path):
    fields = field(":method", "GET") + field(":scheme", "https") + field(":authority", "a") + field(":path", path)
    return frame(HEADERS, END_STREAM | END_HEADERS, stream, fields)


def frames(data):
    while len(data) >= 9:
        length = int.from_bytes(data[:3], "big")
        yield data[3], data[9:9 + length]
        data = data[9 + length:]


def connect(host, port, settings=b""):
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    connection = context.wrap_socket(socket.create_connection((host, int(port)), timeout=10))
    assert connection.selected_alpn_protocol() == "h2"
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, settings))
    return connection


def main():
    host, port, mode, path = sys.argv[1:]
    connection = connect(host, port)
    if mode == "waiting":
        streams = [2 * number + 1 for number in range(50)]
        for stream in streams:
            connection.sendall(request(stream, path))
        time.sleep(0.1)  # The server reads them.
        print("asked", flush=True)
        sys.stdin.readline()
        connection.sendall(b"".join(frame(RST_STREAM, 0, stream, CANCEL) for stream in streams[1:]))
        print("cancelled", flush=True)
        sys.stdin.readline()
        return
    sent, received = 0, b""
    try:
        for number in range(100_000):
            connection.sendall(request(2 * number + 1, path) + frame(RST_STREAM, 0, 2 * number + 1, CANCEL))
            sent = number
    except OSError:
        pass
    try:
        while more := connection.recv(65_536):
            received += more
    except OSError:
        pass
    codes = [int.from_bytes(payload[4:8], "big") for kind, payload in frames(received) if kind == GOAWAY]
    print(json.dumps({"sent": sent, "goAwayCodes": codes}))


if __name__ == "__main__":
    main()

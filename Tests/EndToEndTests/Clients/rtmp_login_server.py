#!/usr/bin/env python3
"""An RTMP server that takes a publisher with a user and password only, and prints what becomes of each connection, a line each.

usage: rtmp_login_server.py adobe|llnw USER PASSWORD

The first line is "port NUMBER"; "published" follows the tenth message of media. A login needs three connections: one without a
user, one with the user, which gets the challenge, and one with the response.
"""
import base64
import hashlib
import os
import socket
import struct
import sys
import threading

from rtmp import command

METHOD, USER, PASSWORD = sys.argv[1:]
SALT, CHALLENGE, OPAQUE, NONCE = "c2FsdA==", "Y2hhbGxlbmdl", "b3BhcXVl", "n0nce"


def take(connection, size):
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise OSError("closed")
        data += piece
    return data


def messages(connection):
    """The type and payload of each message, RTMP 1.0 §5.3."""
    streams, chunk_size = {}, 128
    while True:
        first = take(connection, 1)[0]
        kind, number = first >> 6, first & 63
        head = bytearray(streams.get(number, (bytes(11), b""))[0])
        size = (11, 7, 3, 0)[kind]
        head[:size] = take(connection, size)
        if size and head[:3] == b"\xff\xff\xff":
            take(connection, 4)
        payload = streams.get(number, (b"", b""))[1]
        length = int.from_bytes(head[3:6], "big")
        payload += take(connection, min(chunk_size, length - len(payload)))
        if len(payload) == length:
            if head[6] == 1:
                chunk_size = int.from_bytes(payload, "big")
            yield head[6], payload
            payload = b""
        streams[number] = bytes(head), payload


def parse(data):
    """The values of AMF 0."""
    values, position = [], 0

    def text():
        nonlocal position
        size = int.from_bytes(data[position:position + 2], "big")
        position += 2 + size
        return data[position - size:position].decode()

    def value():
        nonlocal position
        marker, position = data[position], position + 1
        if marker == 0:
            position += 8
            return struct.unpack(">d", data[position - 8:position])[0]
        if marker == 1:
            position += 1
            return bool(data[position - 1])
        if marker == 2:
            return text()
        if marker == 3:
            members = {}
            while key := text():
                members[key] = value()
            position += 1
            return members
        return None

    while position < len(data):
        values.append(value())
    return values


def hashed(*parts):
    return hashlib.md5(":".join(parts).encode()).hexdigest()


def encoded(text):
    return base64.b64encode(hashlib.md5(text.encode()).digest()).decode()


def judge(application):
    """The description of an error; None for a right login."""
    path, _, query = application.partition("?")
    fields = dict(pair.split("=", 1) for pair in query.split("&") if "=" in pair)
    if fields.get("authmod") != METHOD:
        return f"[ AccessManager.Reject ] : [ code=403 need auth; authmod={METHOD} ] : "
    if fields.get("user") != USER:
        return f"[ AccessManager.Reject ] : [ authmod={METHOD} ] : ?reason=nosuchuser&opaque={OPAQUE}"
    if "response" not in fields:
        challenge = f"salt={SALT}&challenge={CHALLENGE}&opaque={OPAQUE}" if METHOD == "adobe" else f"nonce={NONCE}"
        return f"[ AccessManager.Reject ] : [ authmod={METHOD} ] : ?reason=needauth&user={USER}&{challenge}"
    if METHOD == "adobe":
        expected = encoded(encoded(USER + SALT + PASSWORD) + OPAQUE + fields["challenge"])
    else:
        expected = hashed(hashed(USER, "live", PASSWORD), NONCE, fields["nc"], fields["cnonce"], "auth",
                          hashed("publish", f"/{path}/_definst_"))
    if fields["response"] != expected:
        return f"[ AccessManager.Reject ] : [ authmod={METHOD} ] : ?reason=authfailed&opaque={OPAQUE}"
    return None


def serve(connection):
    try:
        take(connection, 1)
        nonce = take(connection, 1536)
        connection.sendall(b"\x03" + bytes(8) + os.urandom(1528) + nonce)
        take(connection, 1536)
        count = 0
        for kind, payload in messages(connection):
            if kind in (8, 9):
                count += 1
                if count == 10:
                    print("published", flush=True)
            if kind != 20:
                continue
            name, number, *arguments = parse(payload)
            if name == "connect":
                error = judge(arguments[0]["app"])
                status = {"level": "error", "code": "NetConnection.Connect.Rejected", "description": error} if error else {
                    "level": "status", "code": "NetConnection.Connect.Success", "description": "welcome"}
                connection.sendall(command("_error" if error else "_result", number, None, status))
                print("refused" if error else "accepted", flush=True)
                if error:
                    return connection.close()
            elif name == "createStream":
                connection.sendall(command("_result", number, None, 1))
            elif name == "publish":
                connection.sendall(command("onStatus", 0, None, {
                    "level": "status", "code": "NetStream.Publish.Start", "description": ""}, message_stream=1))
    except OSError:
        pass


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    print("port", listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


main()

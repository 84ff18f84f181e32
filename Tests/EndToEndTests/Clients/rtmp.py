"""The client's side of RTMP as far as `publish`, with nothing but Python's own library: RTMP 1.0 §5 and §7."""
import os
import struct


def handshake(connection):
    connection.sendall(b"\x03" + bytes(8) + os.urandom(1528))
    answer = b""
    while len(answer) < 3073:
        piece = connection.recv(65536)
        if not piece:
            raise OSError("closed in the handshake")
        answer += piece
    connection.sendall(answer[1:1537])


def value(item):
    """AMF 0: a number, a string, an object, or null."""
    if item is None:
        return b"\x05"
    if isinstance(item, dict):
        members = b"".join(struct.pack(">H", len(key)) + key.encode() + value(member) for key, member in item.items())
        return b"\x03" + members + b"\0\0\x09"
    if isinstance(item, str):
        return b"\x02" + struct.pack(">H", len(item)) + item.encode()
    return b"\0" + struct.pack(">d", item)


def header(kind, size, chunk_stream=3, message_stream=0):
    """A message header of type 0."""
    return bytes([chunk_stream]) + bytes(3) + struct.pack(">I", size)[1:] + bytes([kind]) + struct.pack("<I", message_stream)


def command(*items, message_stream=0):
    """A command in chunks of 128 bytes."""
    payload = b"".join(map(value, items))
    pieces = [payload[start:start + 128] for start in range(0, len(payload), 128)]
    return header(20, len(payload), message_stream=message_stream) + b"\xc3".join(pieces)


def publish(connection, application, key):
    """Returns once the server has accepted the publisher."""
    handshake(connection)
    connection.sendall(command("connect", 1, {"app": application, "tcUrl": f"rtmp://a/{application}"})
                       + command("createStream", 2, None) + command("publish", 3, None, key, "live", message_stream=1))
    answer = b""
    while b"NetStream.Publish.Start" not in answer:
        piece = connection.recv(65536)
        if not piece:
            raise OSError("the publisher is refused")
        answer += piece

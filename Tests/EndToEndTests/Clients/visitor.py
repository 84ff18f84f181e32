"""A host that talks to the program over HTTP/1.1, HTTP/2 and RTSP, with nothing but Python's own library.

Every request is written by hand, so that each of its fields can be wrong. An answer is a status and its head; status 0
stands for a connection that was closed without an answer.
"""
import base64
import hashlib
import re
import socket
import ssl
import struct

from browser import timeout

HEADERS, RST_STREAM, SETTINGS, GOAWAY, DATA = 1, 3, 4, 7, 0
END_STREAM, END_HEADERS, ACK = 1, 4, 1
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


class Visitor:
    def __init__(self, host, http, https, rtsp):
        self.host, self.http, self.https, self.rtsp = host, http, https, rtsp

    @property
    def name(self):
        """The address as URLs and Host have it."""
        return f"[{self.host}]" if ":" in self.host else self.host

    def connect(self, port, limit=10):
        return socket.create_connection((self.host, port), timeout=limit)

    def connect_tls(self, protocol, limit=10):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols([protocol])
        return context.wrap_socket(self.connect(self.https, limit))

    def ask(self, protocol, method, path, fields=None, body=b"", host=None):
        """protocol: "1.1", "2" or "1.0"; host: the authority, "" for none. Returns (status, fields, body)."""
        host = f"{self.name}:{self.https if protocol == '2' else self.http}" if host is None else host
        try:
            if protocol == "2":
                return self.ask2(method, path, fields or {}, body, host)
            return self.ask1(protocol, method, path, fields or {}, body, host)
        except (OSError, ssl.SSLError):
            return 0, {}, b""

    def ask1(self, protocol, method, path, fields, body, host):
        with self.connect(self.http, timeout(10)) as connection:
            lines = [f"{method} {path} HTTP/{protocol}", "Connection: close"]
            if host:
                lines.append(f"Host: {host}")
            if body:
                lines.append(f"Content-Length: {len(body)}")
            lines += [f"{name}: {value}" for name, value in fields.items()]
            connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
            return read_response(connection)

    def ask2(self, method, path, fields, body, host):
        with self.connect_tls("h2", timeout(10)) as connection:
            assert connection.selected_alpn_protocol() == "h2"
            named = {":method": method, ":scheme": "https", ":path": path}
            if host:
                named[":authority"] = host
            named |= {name.lower(): value for name, value in fields.items()}
            if body:
                named["content-length"] = str(len(body))
            block = b"".join(literal(name, value) for name, value in named.items())
            flags = END_HEADERS if body else END_HEADERS | END_STREAM
            connection.sendall(PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, flags, 1, block))
            if body:
                connection.sendall(frame(DATA, END_STREAM, 1, body[:16384]))
            return read_stream(connection)

    def ask_rtsp(self, method, url=None, fields=None, times=1):
        """The status of the last of some equal requests on one connection."""
        url = url or f"rtsp://{self.name}:{self.rtsp}/live"
        status = 0
        try:
            with self.connect(self.rtsp, timeout(10)) as connection:
                for number in range(times):
                    lines = [f"{method} {url} RTSP/1.0", f"CSeq: {number + 1}"]
                    lines += [f"{name}: {value}" for name, value in (fields or {}).items()]
                    connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
                    text = b""
                    while b"\r\n\r\n" not in text:
                        piece = connection.recv(65536)
                        if not piece:
                            return 0
                        text += piece
                    status = int(text.split()[1])
        except OSError:
            return 0
        return status


def read_response(connection):
    text = b""
    while b"\r\n\r\n" not in text:
        piece = connection.recv(65536)
        if not piece:
            return 0, {}, b""
        text += piece
    head, _, body = text.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    fields = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        # Several fields of one name are one list, RFC 9110 §5.3.
        name, value = name.lower(), value.strip()
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    length = fields.get("content-length")
    while length is not None and len(body) < int(length):
        piece = connection.recv(65536)
        if not piece:
            break
        body += piece
    return int(lines[0].split()[1]), fields, body


def read_stream(connection):
    """The status of stream 1; its fields are compressed, so that only those that matter here are looked for."""
    data, status, body = b"", 0, b""
    while True:
        while len(data) >= 9 and len(data) >= 9 + int.from_bytes(data[:3], "big"):
            length, kind, flags = int.from_bytes(data[:3], "big"), data[3], data[4]
            payload, data = data[9:9 + length], data[9 + length:]
            if kind == HEADERS:
                status = status_of(payload)
            elif kind == DATA:
                body += payload
            elif kind in (RST_STREAM, GOAWAY):
                return status, {}, body
            elif kind == SETTINGS and not flags & ACK:
                connection.sendall(frame(SETTINGS, ACK, 0))
            if kind in (HEADERS, DATA) and flags & END_STREAM:
                return status, {}, body
        piece = connection.recv(65536)
        if not piece:
            return status, {}, body
        data += piece


STATIC = {8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500}


def status_of(block):
    """:status is the first field: indexed (RFC 7541 §6.1), or a literal whose name is indexed (§6.2)."""
    if block[0] & 0x80:
        return STATIC.get(block[0] & 0x7F, 0)
    # Three digits, possibly in the Huffman code of appendix B, where each has 5 or 6 bits.
    length, text = block[1] & 0x7F, block[2:2 + (block[1] & 0x7F)]
    if not block[1] & 0x80:
        return int(text)
    codes = {"00000": "0", "00001": "1", "00010": "2"}
    codes |= {f"{0x19 + number - 3:06b}": str(number) for number in range(3, 10)}
    bits, digits, code = "".join(f"{byte:08b}" for byte in text), "", ""
    for bit in bits:
        code += bit
        if code in codes:
            digits, code = digits + codes[code], ""
    return int(digits)


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    """a literal without indexing, RFC 7541 §6.2.2; lengths below 127 in one byte"""
    def text(string):
        data = string.encode()
        if len(data) < 127:
            return bytes([len(data)]) + data
        return bytes([127, (len(data) - 127) & 0x7F | 0x80, (len(data) - 127) >> 7]) + data
    return b"\0" + text(name) + text(value)


def basic(user, password):
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def digest(challenges, method, path, user, password):
    """The value of Authorization that answers the first Digest challenge, RFC 7616."""
    first = re.search(r'Digest realm="([^"]*)", nonce="([^"]*)".*? algorithm=([^, ]+)', challenges)
    realm, nonce, algorithm = first.groups()
    function = {"SHA-256": hashlib.sha256, "MD5": hashlib.md5}[algorithm]

    def hashed(*parts):
        return function(":".join(parts).encode()).hexdigest()

    proof = hashed(hashed(user, realm, password), nonce, "00000001", "0a4f113b", "auth", hashed(method, path))
    return (f'Digest username="{user}", realm="{realm}", nonce="{nonce}", uri="{path}", algorithm={algorithm}, '
            f'qop=auth, nc=00000001, cnonce="0a4f113b", response="{proof}"')

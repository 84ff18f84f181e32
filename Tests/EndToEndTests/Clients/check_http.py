"""HTTP servers of check_peer.py: files, Motion JPEG and WHEP, healthy or with one planted fault."""
import hashlib
import hmac
import http.server
import os
import socket
import ssl
import struct
import subprocess
import threading
import time
import zlib

BOUNDARY = "frame"


def serve(handler, certificate=None):
    """Serves until the process ends, and returns the port."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


class Quiet(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def handle(self):
        try:
            super().handle()
        except OSError:
            pass

    def answer(self, status, content_type=None, body=b"", fields=()):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        if content_type:
            self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def files(folder, fault):
    """The handler of a folder with HLS: as MediaMTX sends it, with CORS and its types, but for the fault."""
    types = {".m3u8": "application/vnd.apple.mpegurl", ".ts": "video/mp2t", ".mp4": "video/mp4", ".m4s": "video/mp4"}

    class Files(Quiet):
        def do_GET(self):
            name = self.path.split("?")[0].lstrip("/")
            extension = os.path.splitext(name)[1]
            path = os.path.join(folder, name)
            if fault == "token" and "token=right" not in self.path and extension == ".m3u8":
                return self.answer(403)
            if fault == "unavailable":
                return self.answer(503)
            if fault == "redirects":
                return self.answer(302, fields=[("Location", self.path)])
            if not os.path.isfile(path) or fault == "no-segments" and extension == ".ts":
                return self.answer(404)
            if fault == "page":
                return self.answer(200, "text/html", b"<!doctype html><title>Camera</title><video src=live.m3u8>")
            with open(path, "rb") as file:
                body = file.read()
            if extension == ".m3u8":
                text = body.decode()
                if fault == "short-target":
                    text = text.replace("#EXT-X-TARGETDURATION:2", "#EXT-X-TARGETDURATION:1")
                body = text.encode()
            fields = []
            if fault != "segments-of-one-origin" or extension == ".m3u8":
                fields.append(("Access-Control-Allow-Origin", "*"))
            kind = types.get(extension, "application/octet-stream")
            if fault == "type" and extension == ".m3u8":
                kind = "text/plain"
            if fault == "cut-off" and extension == ".ts":
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Access-Control-Allow-Origin", "*")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[:len(body) // 2])
                self.close_connection = True
                return None
            return self.answer(200, kind, body, fields)

    return Files


def images(fault):
    """The handler of a stream of JPEG images, as cameras have it."""
    command = ["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=15:d=2", "-pix_fmt", "yuvj420p"]
    data = subprocess.run(command + ["-f", "mjpeg", "-"], check=True, stdout=subprocess.PIPE).stdout
    frames = [b"\xff\xd8\xff" + frame for frame in data.split(b"\xff\xd8\xff")[1:]]

    class Images(Quiet):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", f"multipart/x-mixed-replace; boundary={BOUNDARY}")
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            if fault == "no-images":
                return self.rfile.read(1)
            start = time.monotonic()
            for number in range(15 * 60):
                time.sleep(max(0, start + number * (3 if fault == "slow-images" else 1 / 15) - time.monotonic()))
                if fault == "images-end" and number == 20:
                    return None
                frame = frames[number % len(frames)]
                if fault == "damaged-images" and number % 2:
                    frame = frame[:len(frame) // 2]
                head = f"--{BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: {len(frame)}\r\n\r\n"
                self.wfile.write(head.encode() + frame + b"\r\n")

    return Images


class Candidate:
    """The address of a server of WebRTC: responds to checks of connectivity, RFC 8489."""

    def __init__(self, fault):
        self.user, self.password = "peer", "passwordofthepeerserver0"
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        if fault != "blocked-candidate":
            threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            data, (host, port) = self.socket.recvfrom(2048)
            if data[:2] == b"\0\1":
                self.socket.sendto(self.response(data[4:20], host, port), (host, port))

    def response(self, transaction, host, port):
        cookie = 0x2112A442
        address = struct.unpack(">I", socket.inet_aton(host))[0] ^ cookie
        body = struct.pack(">HHBBHI", 0x0020, 8, 0, 1, port ^ cookie >> 16, address)
        integrity = struct.pack(">HH", 0x0101, len(body) + 24) + transaction + body
        digest = hmac.new(self.password.encode(), integrity, hashlib.sha1).digest()
        body += struct.pack(">HH", 0x0008, 20) + digest
        message = struct.pack(">HH", 0x0101, len(body) + 8) + transaction + body
        return message + struct.pack(">HHI", 0x8028, 4, zlib.crc32(message) ^ 0x5354554E)


def whep(fault):
    """The handler of a WHEP endpoint, whose candidate responds."""
    candidate = Candidate(fault)

    def answer(offer):
        lines = ["v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=ice-lite"]
        lines += [line for line in offer if line.startswith("a=group:")]
        fingerprint = ":".join(["A7"] * 32)
        for section in "\n".join(offer).split("\nm=")[1:]:
            section = section.split("\n")
            kind = section[0].split(" ")[0]
            codec = {"video": "H264/90000", "audio": "opus/48000"}.get(kind)
            number = next((line for line in section if codec and f" {codec}" in line), "a=rtpmap:0 ").split(":")[1].split(" ")[0]
            if fault == "no-video" and kind == "video":
                lines.append(f"m=video 0 UDP/TLS/RTP/SAVPF {number}")
            else:
                lines.append(f"m={kind} 9 UDP/TLS/RTP/SAVPF {number}")
            lines += ["c=IN IP4 0.0.0.0", "a=sendonly", "a=rtcp-mux"]
            lines += [line for line in section if line.startswith("a=mid:")]
            lines += [line for line in section if line.startswith((f"a=rtpmap:{number} ", f"a=fmtp:{number} "))]
            lines += [f"a=ice-ufrag:{candidate.user}", f"a=ice-pwd:{candidate.password}", f"a=fingerprint:sha-256 {fingerprint}"]
            lines.append("a=setup:passive")
            if fault != "no-candidate":
                lines += [f"a=candidate:1 1 udp 2130706431 127.0.0.1 {candidate.port} typ host", "a=end-of-candidates"]
        return "".join(line + "\r\n" for line in lines).encode()

    class WHEP(Quiet):
        def do_POST(self):
            offer = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            if fault == "no-whep":
                return self.answer(405)
            fields = [("Access-Control-Allow-Origin", "*"), ("ETag", "*"), ("Accept-Patch", "application/trickle-ice-sdpfrag")]
            fields.append(("Location", f"{self.path}/7A3C"))
            return self.answer(201, "application/sdp", answer(offer.replace("\r", "").split("\n")), fields)

        def do_DELETE(self):
            self.answer(200)

    return WHEP

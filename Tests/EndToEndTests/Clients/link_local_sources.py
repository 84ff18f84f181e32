#!/usr/bin/env python3
"""Chooses sources that lead to a cloud metadata service in every way, and prints as JSON what the service was asked for.

usage: unshare --net --mount -- link_local_sources.py VIDICON FOLDER

Runs in a network of its own, where 169.254.169.254 and fd00:ec2::254 belong to a web server that logs its requests, and
names come from a hosts file and a name server: "rebound.example" is 127.0.0.1 once, and then the metadata service.
"""
import http.server
import json
import os
import signal
import socket
import socketserver
import struct
import subprocess
import sys
import threading
import urllib.error
import urllib.request

VIDICON, FOLDER = sys.argv[1:]
METADATA, METADATA6 = "169.254.169.254", "fd00:ec2::254"
requests = []


def prepare():
    """Sets up addresses, names, and media."""
    for command in (
            ["ip", "link", "set", "lo", "up"], ["ip", "address", "add", f"{METADATA}/32", "dev", "lo"],
            ["ip", "address", "add", f"{METADATA6}/128", "dev", "lo", "nodad"]):
        subprocess.run(command, check=True)
    files = {
        "/etc/hosts": f"127.0.0.1 localhost\n{METADATA} metadata.home.arpa\n{METADATA6} metadata6.home.arpa\n",
        "/etc/resolv.conf": "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n",
        "/etc/nsswitch.conf": "hosts: files dns\n",
    }
    for path, text in files.items():
        own = os.path.join(FOLDER, os.path.basename(path))
        with open(own, "w") as file:
            file.write(text)
        subprocess.run(["mount", "--bind", own, path], check=True)
    subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=s=160x96:r=15:d=30", "-pix_fmt", "yuv420p", "-c:v",
         "libx264", "-preset", "ultrafast", "-g", "15", os.path.join(FOLDER, "a.ts")], check=True)


class Handler(http.server.BaseHTTPRequestHandler):
    """The metadata service at port 80, and a server elsewhere that leads to it."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, body=b"", **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.server.server_address[1] == 80:
            requests.append(self.path)
        if self.path.startswith("/redirect"):
            self.answer(302, Location=f"http://{METADATA}/a.ts")
        elif self.path.startswith("/list"):
            entry = {"/list.m3u8": "", "/list-key.m3u8": f'#EXT-X-KEY:METHOD=AES-128,URI="http://{METADATA}/key"\n'}
            host = f"http://{METADATA}" if self.path == "/list.m3u8" else ""
            self.answer(200, (
                "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:30\n" + entry[self.path]
                + f"#EXTINF:30,\n{host}/a.ts\n#EXT-X-ENDLIST\n").encode())
        else:
            with open(os.path.join(FOLDER, "a.ts"), "rb") as file:
                self.answer(200, file.read())


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, address):
        pass  # Clients that leave in the middle of a file.


class Server6(Server):
    address_family = socket.AF_INET6


class RTSP(socketserver.StreamRequestHandler):
    """Redirects every request to an address of the metadata service."""

    def handle(self):
        while line := self.rfile.readline():
            if line == b"\r\n":
                self.wfile.write(
                    f"RTSP/1.0 302 Found\r\nCSeq: 1\r\nLocation: rtsp://{METADATA}:80/latest\r\n\r\n".encode())


class Names(socketserver.BaseRequestHandler):
    """A name server: one name, with another address from its second request for an IPv4 address on."""
    asked = 0

    def handle(self):
        query, answers = self.request[0], b""
        end = query.index(b"\0", 12) + 5
        if query[end - 4:end - 2] == b"\0\1":
            address = "127.0.0.1" if Names.asked == 0 else METADATA
            Names.asked += 1
            answers = b"\xc0\x0c\0\1\0\1" + struct.pack(">IH", 0, 4) + socket.inet_aton(address)
        head = query[:2] + b"\x81\x80" + struct.pack(">HHHH", 1, 1 if answers else 0, 0, 0)
        self.request[1].sendto(head + query[12:end] + answers, self.client_address)


def serve():
    """Starts the servers; returns the ports of the one elsewhere, HTTP and RTSP."""
    servers = [
        Server((METADATA, 80), Handler), Server6((METADATA6, 80), Handler), Server(("127.0.0.1", 0), Handler),
        socketserver.ThreadingTCPServer(("127.0.0.1", 0), RTSP), socketserver.UDPServer(("127.0.0.1", 53), Names),
    ]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    return servers[2].server_address[1], servers[3].server_address[1]


class Vidicon:
    """The program, with an operator's client."""

    def __init__(self, *arguments):
        self.program = subprocess.Popen(
            [VIDICON, "serve", "--json", "--rtsp-port", "0", "--http-port", "0", "--no-discovery", "--audio", "none",
             *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            env=os.environ | {"XDG_RUNTIME_DIR": FOLDER})
        self.started = json.loads(self.program.stdout.readline() or "{}")
        threading.Thread(target=self.program.stdout.read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *arguments):
        self.program.send_signal(signal.SIGINT)
        self.program.wait(10)

    def choose(self, source):
        """Returns the status and text of the response, and the number of requests to the metadata service."""
        with open(self.started["controlTokenFile"]) as file:
            token = file.read()
        change = urllib.request.Request(
            f"http://127.0.0.1:{self.started['httpPort']}/api/streams/live/source", method="PUT",
            data=json.dumps({"video": source}).encode(),
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
        requests.clear()
        try:
            with urllib.request.urlopen(change, timeout=40) as response:
                status, text = response.status, ""
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read().decode()
        return {"status": status, "text": text, "requests": len(requests)}


def main():
    prepare()
    web, rtsp = serve()
    elsewhere = f"http://127.0.0.1:{web}"
    sources = {
        "address": f"http://{METADATA}/a.ts", "number": "http://2852039166/a.ts", "octal": "http://0251.0376.43518/a.ts",
        "IPv6": f"http://[{METADATA6}]/a.ts", "mapped": f"http://[::ffff:{METADATA}]/a.ts",
        "hosts file": "http://metadata.home.arpa/a.ts", "hosts file IPv6": "http://metadata6.home.arpa/a.ts",
        "redirection": f"{elsewhere}/redirect", "RTSP redirection": f"rtsp://127.0.0.1:{rtsp}/x",
        "segment": f"{elsewhere}/list.m3u8", "key": f"{elsewhere}/list-key.m3u8",
        "rebinding": "http://rebound.example/a.ts",
    }
    result = {}
    with Vidicon("--source", "bars", "--size", "160x96") as vidicon:
        result["refused"] = {name: vidicon.choose(source) for name, source in sources.items()}
        result["namesAsked"] = Names.asked
        result["elsewhere"] = vidicon.choose(f"{elsewhere}/a.ts")
    with Vidicon("--source", "bars", "--size", "160x96", "--link-local") as vidicon:
        result["allowed"] = {name: vidicon.choose(sources[name]) for name in ("address", "redirection", "segment")}
    requests.clear()
    with Vidicon("--source", "http://metadata.home.arpa/a.ts") as vidicon:
        result["owner"] = {"isStarted": "httpPort" in vidicon.started, "requests": len(requests)}
    print(json.dumps(result))


main()

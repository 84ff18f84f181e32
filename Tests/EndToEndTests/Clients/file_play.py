#!/usr/bin/env python3
"""Plays a recorded file in Chromium's <video>, seeks in it, and prints the displayed frames' capture times as JSON.

usage: file_play.py FILE
"""
import functools
import http.server
import json
import pathlib
import sys
import threading

from browser import open_browser
from strip import STRIP


class Handler(http.server.BaseHTTPRequestHandler):
    """serves the file, with byte ranges, and a page that plays it"""

    def __init__(self, path, *arguments):
        self.file = path
        super().__init__(*arguments)

    def do_GET(self):
        if self.path == "/":
            return self.answer(200, b'<video id="v" src="/file.mp4" muted></video>', "text/html")
        if self.path != "/file.mp4":
            return self.answer(404, b"", "text/plain")
        data = pathlib.Path(self.file).read_bytes()
        asked = self.headers.get("Range")
        if not asked:
            return self.answer(200, data, "video/mp4")
        first, _, last = asked.removeprefix("bytes=").partition("-")
        first, last = int(first), int(last) if last else len(data) - 1
        self.answer(206, data[first:last + 1], "video/mp4", f"bytes {first}-{last}/{len(data)}")

    def answer(self, status, body, kind, content_range=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Accept-Ranges", "bytes")
        if content_range:
            self.send_header("Content-Range", content_range)
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass  # the browser closes the connection when its buffer is full

    def log_message(self, *_):
        pass


SEEK = """
const time = arguments[0];
window.seeked = false;
const video = document.getElementById("v");
video.addEventListener("seeked", () => { window.seeked = true; }, { once: true });
video.currentTime = time;
"""
LOOK = """
const video = document.getElementById("v");
return window.strip(video, video.videoWidth, video.videoHeight);
"""


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, sys.argv[1]))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with open_browser("chromium") as browser:
        browser.go(f"http://127.0.0.1:{server.server_port}/")
        browser.run(STRIP)
        browser.until("return document.getElementById('v').readyState >= 2")
        seen = {"duration": browser.run("return document.getElementById('v').duration"), "strips": []}
        for time in (3.0, 0.5, 2.0):
            # Half a frame interval later, so that rounding does not choose the frame.
            browser.run(SEEK, time + 1 / 60)
            browser.until("return window.seeked")
            seen["strips"].append(browser.run(LOOK))
        browser.run("const v = document.getElementById('v'); v.currentTime = 3; v.play();")
        browser.until("return document.getElementById('v').ended", seconds=15)
        seen["ended"] = True
    print(json.dumps(seen))


main()

#!/usr/bin/env python3
"""Starts a server, opens its page in Chromium, changes how it plays, restarts the server, and prints as JSON what the page showed.

usage: page_realtime.py PROGRAM

The choice of the menu beside "Played by" is read after a reload too: the browser remembers it.
"""
import argparse
import json
import signal
import socket
import subprocess
import time

from browser import free_port, open_browser

PLAYS = """
const video = document.querySelector("video"), way = document.getElementById("way").textContent;
return video.readyState >= 2 && !video.paused && document.getElementById("live").dataset.state === "live"
  && (!arguments[0] || way === arguments[0]) && (!arguments[1] || video.videoWidth === arguments[1]) && way;
"""
CHOOSE = """
const menu = document.getElementById("mode");
menu.value = arguments[0];
menu.dispatchEvent(new Event("change"));
"""


class Server:
    def __init__(self, program):
        self.http, self.webrtc = free_port(), free_port()
        self.command = [
            program, "serve", "--json", "--source", "bars", "--audio", "none", "--size", "1280x720", "--fps", "10",
            "--rtsp-port", "0", "--http-port", str(self.http), "--webrtc-port", str(self.webrtc), "--no-discovery"]

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.http), timeout=1).close()
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(20)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    server = Server(parser.parse_args().program)
    server.start()
    seen = {}
    try:
        with open_browser("chromium", webrtc=True) as browser:
            browser.go(f"http://127.0.0.1:{server.http}/live")
            browser.until(PLAYS, "WebRTC, real time", 1280)
            browser.run(CHOOSE, "smooth")
            browser.until(PLAYS, "HLS, low latency", 1280)
            browser.go(f"http://127.0.0.1:{server.http}/live")
            seen["reloaded"] = browser.until(f"const way = (() => {{ {PLAYS} }})(); return way && way.length > 1 && way;")
            seen["remembered"] = browser.run("return document.getElementById('mode').value")
            browser.run(CHOOSE, "save")
            browser.until(PLAYS, "WebRTC, real time", 640)
            browser.run(CHOOSE, "realtime")
            browser.until(PLAYS, "WebRTC, real time", 1280)
            seen["exit"] = server.stop()
            seen["message"] = browser.until(
                "const text = document.getElementById('message').textContent; return text.includes('lost') && text")
            server.start()
            seen["restarted"] = browser.until(PLAYS, "WebRTC, real time", 1280)
    finally:
        if server.process.poll() is None:
            server.stop()
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
